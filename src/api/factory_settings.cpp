#include "api/factory_settings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

#include "base/amounts.h"
#include "base/similar_word.h"
#include "base/units.h"
#include "factory/settings.h"

namespace wq::api {

namespace {

using Count = int FactorySettings::*;
using Megabytes = std::int64_t FactorySettings::*;
using Seconds = double FactorySettings::*;
using Choice = bool FactorySettings::*;
using Text = std::string FactorySettings::*;

struct Setting {
    std::string_view name;
    std::variant<Count, Megabytes, Seconds, Choice, Text> member;
    std::int64_t most = factory::most_workers;  // of a count
};

constexpr std::array settings_table{
    Setting{"min-workers", &FactorySettings::min_workers},
    Setting{"max-workers", &FactorySettings::max_workers},
    Setting{"workers-per-cycle", &FactorySettings::workers_per_cycle},
    Setting{"tasks-per-worker", &FactorySettings::tasks_per_worker},
    Setting{"capacity", &FactorySettings::capacity},
    Setting{"timeout", &FactorySettings::timeout},
    Setting{"factory-timeout", &FactorySettings::factory_timeout},
    Setting{"cores", &FactorySettings::cores, most_cores},
    Setting{"memory", &FactorySettings::memory},
    Setting{"disk", &FactorySettings::disk},
    Setting{"gpus", &FactorySettings::gpus, most_cores},
    Setting{"autosize", &FactorySettings::autosize},
    Setting{"worker-extra-options", &FactorySettings::worker_extra_options},
    Setting{"condor-requirements", &FactorySettings::condor_requirements},
};

// Read only at a factory's start. Without a member it is an option that the program gets as a word.
struct Option {
    enum class Kind { text, path, time, list, host_port };
    std::string_view name;
    Kind kind = Kind::text;
    std::string FactoryOptions::*member = nullptr;
};

constexpr std::array options_table{
    Option{"factory-name", Option::Kind::text, &FactoryOptions::factory_name},
    Option{"scratch-dir", Option::Kind::path, &FactoryOptions::scratch_dir},
    Option{"worker-binary", Option::Kind::path, &FactoryOptions::worker_binary},
    Option{"manager-name", Option::Kind::text, &FactoryOptions::manager_name},
    Option{"manager-host-port", Option::Kind::host_port},
    Option{"catalog"},
    Option{"batch-options"},
    Option{"wall-time", Option::Kind::time},
    Option{"cycle", Option::Kind::time},
    Option{"status-interval", Option::Kind::time},
    Option{"feature", Option::Kind::list},
    Option{"env", Option::Kind::list},
    Option{"worker-start-cmd"},
    Option{"wrapper"},
    Option{"task-wrapper"},
};

template <class Table>
auto find(const Table& table, std::string_view name) {
    return std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.name == name; });
}

template <class Table>
std::vector<std::string> names_in(const Table& table) {
    std::vector<std::string> names;
    for (const auto& one : table) names.emplace_back(one.name);
    return names;
}

Error bad(std::string_view name, const std::string& why) {
    return {ExitCode::usage, std::string(name) + ": " + why};
}

Error unknown(const std::string& name) {
    if (const std::string why = why_refused(name); !why.empty()) return bad(name, why);
    std::vector<std::string_view> names;
    for (const Setting& setting : settings_table) names.push_back(setting.name);
    for (const Option& option : options_table) names.push_back(option.name);
    return {ExitCode::usage,
            "there is no setting " + quote_for_message(name) + did_you_mean(most_similar(name, names))};
}

Result<bool> parse_choice(const std::string& text) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    return Error{ExitCode::usage, quote_for_message(text) + " is neither true nor false"};
}

// Assigns a value, each kind by its own rules.
struct Assign {
    const Setting& setting;
    FactorySettings& settings;
    const std::string& text;

    template <class Value, class Member>
    Status take(Result<Value> value, Member member) const {
        if (!value) return bad(setting.name, value.error().message);
        settings.*member = static_cast<std::remove_reference_t<decltype(settings.*member)>>(*value);
        return success();
    }
    Status operator()(Count member) const { return take(parse_count(text, 0, setting.most), member); }
    Status operator()(Megabytes member) const { return take(parse_amount_mb(text), member); }
    Status operator()(Seconds member) const {
        const auto time = parse_duration(text);
        if (!time) return bad(setting.name, time.error().message);
        settings.*member = std::chrono::duration<double>(*time).count();
        return success();
    }
    Status operator()(Choice member) const { return take(parse_choice(text), member); }
    Status operator()(Text member) const {
        settings.*member = text;
        return success();
    }
};

// The program may change its folder before the factory starts.
std::string absolute(const std::string& path) {
    std::error_code unknown;
    const auto whole = std::filesystem::absolute(path, unknown);
    return path.empty() || unknown ? path : whole.string();
}

// "--NAME=VALUE" in one word, since a value may begin with a minus.
void set_word(std::vector<std::string>& words, const Option& option, const std::string& value) {
    const std::string start = "--" + std::string(option.name) + "=";
    if (option.kind != Option::Kind::list || value.empty())
        std::erase_if(words, [&](const std::string& word) { return word.starts_with(start); });
    if (!value.empty()) words.push_back(start + value);
}

Status take_host_port(FactoryOptions& options, const std::string& value) {
    const std::size_t colon = value.rfind(':');
    const auto port = parse_count(colon == value.npos ? "" : value.substr(colon + 1), 1, 65535);
    if (!value.empty() && (!port || colon == 0))
        return bad("manager-host-port", quote_for_message(value) + " is not HOST:PORT");
    options.manager_host = value.substr(0, std::min(colon, value.size()));
    options.manager_port = port ? static_cast<int>(*port) : 0;
    return success();
}

}  // namespace

std::string why_refused(const std::string& name) {
    if (name == "config-file") return "give its values as settings of the factory";
    return std::string(factory::why_refused(name));
}

Status specify(FactoryOptions& options, bool running, const std::string& name, const std::string& value) {
    if (const auto setting = find(settings_table, name); setting != settings_table.end())
        return std::visit(Assign{*setting, options.settings, value}, setting->member);
    const auto option = find(options_table, name);
    if (option == options_table.end()) return unknown(name);
    if (running) return bad(name, "too late: it can change only while the factory does not run");
    if (option->kind == Option::Kind::time && !value.empty())
        if (const auto time = parse_duration(value); !time) return bad(name, time.error().message);
    if (option->kind == Option::Kind::host_port) return take_host_port(options, value);
    if (option->member == nullptr)
        set_word(options.options, *option, value);
    else
        options.*option->member = option->kind == Option::Kind::path ? absolute(value) : value;
    return success();
}

std::vector<std::string> setting_names() {
    return names_in(settings_table);
}
std::vector<std::string> option_names() {
    return names_in(options_table);
}

std::string json_of(FactorySettings settings) {
    // A maximum below the default minimum is enough said.
    settings.min_workers = std::min(settings.min_workers, settings.max_workers);
    nlohmann::ordered_json all;
    for (const Setting& setting : settings_table)
        std::visit([&](auto member) { all[std::string(setting.name)] = settings.*member; }, setting.member);
    return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace wq::api
