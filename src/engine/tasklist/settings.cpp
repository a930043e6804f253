#include "engine/tasklist/settings.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/environment_changes.h"
#include "base/relative_path.h"
#include "base/units.h"
#include "engine/tasklist/tags.h"

namespace wq::engine::tasklist {

namespace {

Result<Duration> parse_limit(std::string_view text) {
    auto limit = parse_duration(text);
    if (limit && limit->count() == 0) {
        return Error{ExitCode::usage, "a task needs more than '0' seconds; 'time=' restores the default"};
    }
    return limit;
}

Result<std::string> parse_batch_environment(std::string_view text) {
    if (text == batch_environment_kept || text == "hide") return std::string(text);
    return Error{ExitCode::usage, quote_for_message(text) + " is neither keep nor hide"};
}

// Each call adds one; an empty value clears.
Status add_path(std::vector<std::string>& paths, std::string_view value) {
    if (value.empty()) {
        paths.clear();
        return success();
    }
    auto path = relative_path(value);
    if (!path)
        return Error{ExitCode::usage, quote_for_message(value) +
                                          " is not below the folder that tasks run in; give a relative "
                                          "path without '..'"};
    paths.push_back(std::move(*path));
    return success();
}

// With two files of one name, or one within another, nobody could say which is there.
Status check_paths(const Settings& settings) {
    std::set<std::string> names;
    for (const auto* paths : {&settings.inputs, &settings.outputs})
        for (const std::string& path : *paths)
            if (!names.insert(path + "/").second)
                return Error{ExitCode::bad_input,
                             quote_for_message(path) + " is given twice as a file; keep one"};
    const std::string* before = nullptr;
    std::set<std::string> inputs;
    for (const std::string& path : settings.inputs) inputs.insert(path + "/");
    for (const std::string& path : inputs) {
        if (before != nullptr && path.starts_with(*before))
            return Error{ExitCode::bad_input, "the input " + quote_for_message(path) + " lies in the input " +
                                                  quote_for_message(*before) + "; keep the folder"};
        before = &path;
    }
    return success();
}

struct SettingKey {
    std::string_view name;
    std::string_view nickname;  // its name in other systems; only for the hint
    Status (*set)(Settings&, std::string_view);
    std::vector<std::string> Settings::*list = nullptr;  // may occur several times in a line
};

constexpr std::array<SettingKey, 11> setting_keys{{
    {"cores", "cpus", [](Settings& s, std::string_view v) { return set_field(s.cores, v, parse_fraction); }},
    {"memory", "mem",
     [](Settings& s, std::string_view v) { return set_field(s.memory_mb, v, parse_memory); }},
    {"disk", "tmp", [](Settings& s, std::string_view v) { return set_field(s.disk_mb, v, parse_megabytes); }},
    {"gpus", "gres", [](Settings& s, std::string_view v) { return set_field(s.gpus, v, parse_fraction); }},
    {"time", "timeout", [](Settings& s, std::string_view v) { return set_field(s.time, v, parse_limit); }},
    {"min-time", "time-min",
     [](Settings& s, std::string_view v) { return set_field(s.min_time, v, parse_duration); }},
    {"retries", "tries",
     [](Settings& s, std::string_view v) { return set_field(s.retries, v, parse_number); }},
    {"category", "name",
     [](Settings& s, std::string_view v) { return set_field(s.category, v, parse_category_name); }},
    {"batch-environment", "export",
     [](Settings& s, std::string_view v) {
         return set_field(s.batch_environment, v, parse_batch_environment);
     }},
    {"input", "in", [](Settings& s, std::string_view v) { return add_path(s.inputs, v); }, &Settings::inputs},
    {"output", "out", [](Settings& s, std::string_view v) { return add_path(s.outputs, v); },
     &Settings::outputs},
}};

std::string known_keys() {
    std::string text = "; the keys are";
    for (const SettingKey& key : setting_keys) text.append(" ").append(key.name);
    return text;
}

Error bad_setting(std::string message) {
    return Error{ExitCode::bad_input, std::move(message)};
}

}  // namespace

Status apply_settings(std::string_view words, Settings& settings) {
    Settings changed = settings;
    std::array<bool, setting_keys.size()> given{};
    bool any = false;
    for (auto word = take_word(words); !word.empty(); word = take_word(words)) {
        if (word == "#") break;
        any = true;
        const std::size_t sign = word.find('=');
        const std::string_view name = word.substr(0, sign);
        const auto* key = std::ranges::find(setting_keys, name, &SettingKey::name);
        if (key == setting_keys.end()) {
            return bad_setting("unknown key " + quote_for_message(name) + " in a #WQ line" +
                               suggest_key(name, setting_keys) + known_keys());
        }
        if (sign == std::string_view::npos) {
            return bad_setting("'" + std::string(name) + "' has no value; write " + std::string(name) +
                               "=VALUE, or " + std::string(name) + "= for the default");
        }
        bool& twice = given[static_cast<std::size_t>(key - setting_keys.begin())];
        if (twice && key->list == nullptr)
            return bad_setting("'" + std::string(name) + "' is given twice in one #WQ line; keep one");
        if (!twice && key->list != nullptr)
            (changed.*key->list).clear();  // a line replaces all earlier
                                           // entries
        twice = true;
        if (auto status = key->set(changed, word.substr(sign + 1)); !status) {
            return bad_setting("bad value of '" + std::string(name) + "': " + status.error().message +
                               known_keys());
        }
    }
    if (!any) return bad_setting("a #WQ line without settings" + known_keys());
    if (auto status = check_paths(changed); !status) return status;
    settings = std::move(changed);
    return success();
}

namespace {

constexpr std::int64_t most_count = 1'000'000;

}  // namespace

Result<std::int64_t> parse_number(std::string_view text) {
    return parse_count(text, 0, most_count);
}

Result<Count> parse_fraction(std::string_view text) {
    return parse_count_with_fraction(text, 0, most_cores);
}

Result<std::int64_t> parse_megabytes(std::string_view text) {
    return parse_amount_mb(text);
}

Result<std::int64_t> parse_memory(std::string_view text) {
    auto megabytes = parse_megabytes(text);
    if (megabytes && *megabytes == 0) {
        return Error{ExitCode::usage, "a task needs more than '0' bytes; 'memory=' restores the default"};
    }
    return megabytes;
}

Result<std::string> parse_category_name(std::string_view text) {
    if (is_name(text)) return std::string(text);
    return Error{ExitCode::usage,
                 quote_for_message(text) + " is not a category name; use letters, digits and _ . -"};
}

}  // namespace wq::engine::tasklist
