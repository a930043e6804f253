// What a factory may be told anew while it runs: the keys of its configuration file, which are the names of
// the options that they replace.
#pragma once

#include <cstdint>
#include <functional>
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

struct PoolSettings {
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
// "memory": "cores*4000" (see evaluate()). Sizes are whole: fractions are rounded up. Keys that the file
// lacks keep the values of `before`. Errors (bad_input) have one line that names the key: no JSON, an unknown
// key, a value of another kind or out of its bounds, min-workers above max-workers.
Result<PoolSettings> read_settings(const std::string& text, const PoolSettings& before);

std::vector<std::string_view> setting_names();  // the keys

// Why an option of CCTools' factory is refused, and what to use in its place; empty: it is no such option.
std::string_view why_refused(std::string_view option);

// Arithmetic in configuration files: "cores*4000", "min(8, max-workers / 2) + 1".

// A value of the same file, by its key; nullopt: there is none, or it is no number.
using ValueOf = std::function<std::optional<double>(const std::string& key)>;

// Numbers, keys, + - * / with their usual precedence, parentheses, min(a, b, ...) and max(a, b, ...). A key
// has letters, digits, '_' and '-'; so a difference of keys needs blanks: "a - b". Errors (bad_input) quote
// the text: not of this grammar, an unknown key, or no finite number (a division by 0).
Result<double> evaluate(std::string_view text, const ValueOf& value);

}  // namespace wq::factory
