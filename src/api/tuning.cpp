#include "api/tuning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/similar_word.h"
#include "base/units.h"
#include "net/session/session_table.h"

namespace wq::api {

namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

constexpr double shortest_disconnect_limit_s =
    std::chrono::duration<double>(net::session::shortest_disconnect_limit).count();

struct Parameter {
    std::string_view name;
    double value;  // initial value
    double least;  // minimum; `none`: any
    std::string_view alias{};
    bool or_zero = false;  // 0 is valid, too, although below the minimum
};

// Work Queue's table, with other names, such as the manual's misspelt ones.
constexpr std::array parameters{
    Parameter{"resource-submit-multiplier", 1, 1, "asynchrony-multiplier"},
    Parameter{"min-transfer-timeout", 60, 1},
    Parameter{"foreman-transfer-timeout", 3600, 1},
    Parameter{"default-transfer-rate", 1 << 20, 1},
    Parameter{"transfer-outlier-factor", 10, 1},
    Parameter{"fast-abort-multiplier", -1, none},
    Parameter{"keepalive-interval", 1, 0},
    Parameter{"keepalive-timeout", 29, 0},
    Parameter{"short-timeout", 5, 1},
    Parameter{"long-timeout", 3600, 1},
    Parameter{"monitor-interval", 5, 1},
    Parameter{"category-steady-n-tasks", 25, 0},
    Parameter{"hungry-minimum", 10, 0, "hungry-minumum"},
    Parameter{"hungry-minimum-factor", 2, 0, "hungry-minumum-factor"},
    Parameter{"wait-for-workers", 0, 0},
    Parameter{"attempt-schedule-depth", 100, 1},
    Parameter{"wait-retrieve-many", 0, 0, "wait_retrieve_many"},
    Parameter{"fetch-factory", 0, 0},
    Parameter{"proportional-resources", 1, 0, "force-proportional-resources"},
    Parameter{"proportional-whole-tasks", 1, 0, "force-proportional-resources-whole-tasks"},
    Parameter{"ramp-down-heuristic", 0, 0},
    Parameter{"exclude-failing-hosts", 1, 0, "set-hosts-aside"},  // this and the next are ours
    Parameter{"speculate", 0, 1, "", true},
    Parameter{"reconnect-timeout", 60, shortest_disconnect_limit_s, "", true},
};

bool takes(const Parameter& parameter, double value) {
    return std::isfinite(value) && (value >= parameter.least || (parameter.or_zero && value == 0));
}

std::string values_of(const Parameter& parameter) {
    if (parameter.least == none) return "a number";
    return (parameter.or_zero ? "0, or a number of at least " : "a number of at least ") +
           std::to_string(std::lround(parameter.least));
}

std::string suggestion(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Parameter& parameter : parameters) names.push_back(parameter.name);
    return did_you_mean(most_similar(name, names));
}

}  // namespace

Tuning::Tuning() {
    for (const Parameter& parameter : parameters) values_.emplace(parameter.name, parameter.value);
}

Result<std::string> Tuning::set(const std::string& name, double value) {
    for (const Parameter& parameter : parameters) {
        if (name != parameter.name && (parameter.alias.empty() || name != parameter.alias)) continue;
        if (!takes(parameter, value))
            return Error{ExitCode::usage, "tune: " + name + " takes " + values_of(parameter)};
        const std::lock_guard lock(mutex_);
        values_.find(parameter.name)->second = value;
        return std::string(parameter.name);
    }
    return Error{ExitCode::usage, "tune: unknown parameter " + quote_for_message(name) + suggestion(name)};
}

void Tuning::begin(std::string_view name, double value) {
    const std::lock_guard lock(mutex_);
    values_.find(name)->second = value;
}

double Tuning::get(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(name);
    return found == values_.end() ? 0 : found->second;
}

std::uint32_t Tuning::count(std::string_view name) const {
    return static_cast<std::uint32_t>(std::min(get(name), 1e9));
}

engine::model::Tuned Tuning::of_core(std::string_view name) const {
    engine::model::Tuned tuned;
    if (name == "speculate") tuned.copies_from = get(name);
    if (name == "exclude-failing-hosts") tuned.excludes_failing_hosts = get(name) != 0;
    if (name == "wait-for-workers") tuned.hold_until_workers = count(name);
    if (name == "ramp-down-heuristic") tuned.ramps_down = get(name) != 0;
    if (name == "resource-submit-multiplier") tuned.submit_multiplier = std::min(get(name), 1e3);
    if (name.starts_with("proportional-"))
        tuned.allocation = {get("proportional-resources") != 0 ? engine::model::Rest::proportional
                                                               : engine::model::Rest::whole,
                            get("proportional-whole-tasks") != 0};
    return tuned;
}

}  // namespace wq::api
