#include "taskfile/settings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "base/relative_path.h"
#include "base/units.h"
#include "taskfile/tags.h"

namespace wq::taskfile {

namespace {

constexpr std::int64_t most_count = 1'000'000;
constexpr std::int64_t bytes_per_mb = std::int64_t{1} << 20;

// Sets `field` from what a parser of units.h made of the value; an empty value resets it.
template <class T, class Parse>
Status set_field(std::optional<T>& field, std::string_view value, Parse&& parse) {
    if (value.empty()) {
        field.reset();
        return success();
    }
    auto parsed = parse(value);
    if (!parsed) return parsed.error();
    field = static_cast<T>(*parsed);
    return success();
}

Result<std::int64_t> parse_number(std::string_view text) {
    return parse_count(text, 0, most_count);
}

Result<std::int64_t> parse_megabytes(std::string_view text) {
    auto bytes = parse_size(text);
    if (!bytes) return bytes;
    return *bytes / bytes_per_mb + (*bytes % bytes_per_mb != 0 ? 1 : 0);
}

Result<std::int64_t> parse_memory(std::string_view text) {
    auto megabytes = parse_megabytes(text);
    if (megabytes && *megabytes == 0) {
        return Error{ExitCode::usage, "no task runs in '0' bytes; 'memory=' goes back to the default"};
    }
    return megabytes;
}

Result<Duration> parse_limit(std::string_view text) {
    auto limit = parse_duration(text);
    if (limit && limit->count() == 0) {
        return Error{ExitCode::usage, "no task ends in '0' seconds; 'time=' goes back to the default"};
    }
    return limit;
}

Result<std::string> parse_category(std::string_view text) {
    if (is_name(text)) return std::string(text);
    return Error{ExitCode::usage,
                 quote_for_message(text) + " is no name of a category; use letters, digits and _ . -"};
}

// Each adds one; an empty value: none.
Status add_path(std::vector<std::string>& paths, std::string_view value) {
    if (value.empty()) {
        paths.clear();
        return success();
    }
    auto path = relative_path(value);
    if (!path)
        return Error{ExitCode::usage, quote_for_message(value) +
                                          " does not lie below the folder that tasks run in; give a relative "
                                          "path without '..'"};
    paths.push_back(std::move(*path));
    return success();
}

// Of two files of one name, or of one in another, nobody could say which is there.
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

struct Key {
    std::string_view name;
    std::string_view nickname;  // what other systems call it; only for the hint
    Status (*set)(Settings&, std::string_view);
    std::vector<std::string> Settings::*list = nullptr;  // it may be given several times in a line
};

constexpr std::array<Key, 10> keys{{
    {"cores", "cpus", [](Settings& s, std::string_view v) { return set_field(s.cores, v, parse_number); }},
    {"memory", "mem",
     [](Settings& s, std::string_view v) { return set_field(s.memory_mb, v, parse_memory); }},
    {"disk", "tmp", [](Settings& s, std::string_view v) { return set_field(s.disk_mb, v, parse_megabytes); }},
    {"gpus", "gres", [](Settings& s, std::string_view v) { return set_field(s.gpus, v, parse_number); }},
    {"time", "timeout", [](Settings& s, std::string_view v) { return set_field(s.time, v, parse_limit); }},
    {"min-time", "time-min",
     [](Settings& s, std::string_view v) { return set_field(s.min_time, v, parse_duration); }},
    {"retries", "tries",
     [](Settings& s, std::string_view v) { return set_field(s.retries, v, parse_number); }},
    {"category", "name",
     [](Settings& s, std::string_view v) { return set_field(s.category, v, parse_category); }},
    {"input", "in", [](Settings& s, std::string_view v) { return add_path(s.inputs, v); }, &Settings::inputs},
    {"output", "out", [](Settings& s, std::string_view v) { return add_path(s.outputs, v); },
     &Settings::outputs},
}};

// Levenshtein's distance: insertions, deletions and replacements from one word to the other.
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::string hint(std::string_view word) {
    constexpr std::size_t most_edits = 2;
    if (word.size() > 32) return {};
    std::size_t best = most_edits + 1;
    std::string_view name;
    for (const Key& key : keys) {
        const std::size_t edits = word == key.nickname ? 0 : distance(word, key.name);
        if (edits < best && edits < key.name.size() / 2 + 1) best = edits, name = key.name;
    }
    return name.empty() ? std::string{} : " (did you mean '" + std::string(name) + "'?)";
}

std::string known_keys() {
    std::string text = "; the keys are";
    for (const Key& key : keys) text.append(" ").append(key.name);
    return text;
}

Error bad(std::string message) {
    return Error{ExitCode::bad_input, std::move(message)};
}

}  // namespace

Status apply_settings(std::string_view words, Settings& settings) {
    Settings changed = settings;
    std::array<bool, keys.size()> given{};
    bool any = false;
    for (auto word = take_word(words); !word.empty(); word = take_word(words)) {
        if (word == "#") break;
        any = true;
        const std::size_t sign = word.find('=');
        const std::string_view name = word.substr(0, sign);
        const auto* key = std::ranges::find(keys, name, &Key::name);
        if (key == keys.end()) {
            return bad("unknown key " + quote_for_message(name) + " in a #WQ line" + hint(name) +
                       known_keys());
        }
        if (sign == std::string_view::npos) {
            return bad("'" + std::string(name) + "' has no value; write " + std::string(name) +
                       "=VALUE, or " + std::string(name) + "= for the default");
        }
        bool& twice = given[static_cast<std::size_t>(key - keys.begin())];
        if (twice && key->list == nullptr)
            return bad("'" + std::string(name) + "' is given twice in one #WQ line; keep one");
        if (!twice && key->list != nullptr) (changed.*key->list).clear();  // a line's are all that there are
        twice = true;
        if (auto status = key->set(changed, word.substr(sign + 1)); !status) {
            return bad("bad value of '" + std::string(name) + "': " + status.error().message + known_keys());
        }
    }
    if (!any) return bad("a #WQ line without settings" + known_keys());
    if (auto status = check_paths(changed); !status) return status;
    settings = std::move(changed);
    return success();
}

}  // namespace wq::taskfile
