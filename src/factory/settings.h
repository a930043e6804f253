// What a factory may be told anew while it runs: the keys of its configuration file, which are the names of
// the options that they replace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/model/resources.h"

namespace wq::factory {

inline constexpr std::int64_t most_workers =
    1'000'000;  // of every setting that counts workers or their tasks

struct Settings {
    std::string manager_name;  // a regular expression; empty: another way to the managers
    std::string catalog;       // servers that know names: HOST[:PORT],...; empty: $CATALOG_HOST
    std::string factory_name;  // empty: one is made
    std::int64_t min_workers = 5;
    std::int64_t max_workers = 100;
    std::int64_t workers_per_cycle = 5;  // submitted and not connected at a time; 0: no limit
    std::optional<std::int64_t> tasks_per_worker;
    bool capacity = false;                       // no more workers than the managers can keep busy
    Duration timeout = std::chrono::minutes(5);  // of an idle worker
    Duration factory_timeout{0};                 // without a manager that has tasks; 0: never
    bool autosize = false;
    engine::model::Resources size;  // of a worker; 0: not specified
    std::string worker_extra_options;
    std::string condor_requirements;
};

// `text`: a JSON object. A number may be written as an expression of other numbers of the file, such as
// "memory": "cores*4000" (expression.h). Sizes are whole: fractions are rounded up. Keys that the file lacks
// keep the values of `before`. Errors (bad_input) have one line that names the key: no JSON, an unknown key,
// a value of another kind or out of its bounds, min-workers above max-workers.
Result<Settings> read_settings(const std::string& text, const Settings& before);

std::vector<std::string_view> setting_names();  // the keys

// Why an option of CCTools' factory is refused, and what to use in its place; empty: it is no such option.
std::string_view why_refused(std::string_view option);

}  // namespace wq::factory
