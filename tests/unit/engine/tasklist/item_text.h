// Items of a list as one line of text each, so that tests read as tables.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "engine/tasklist/list.h"

namespace wq::engine::tasklist::testing {

inline std::string text_of(const Settings& s) {
    std::string text;
    const auto add = [&](const char* key, const std::optional<Count>& value) {
        if (value) text += std::string(" ") + key + "=" + format_count_with_fraction(*value);
    };
    add("cores", s.cores);
    add("memory", s.memory_mb);
    add("disk", s.disk_mb);
    add("gpus", s.gpus);
    if (s.time) text += " time=" + format_duration(*s.time);
    if (s.min_time) text += " min-time=" + format_duration(*s.min_time);
    add("retries", s.retries);
    if (s.category) text += " category=" + *s.category;
    for (const std::string& path : s.inputs) text += " input=" + path;
    for (const std::string& path : s.outputs) text += " output=" + path;
    return text;
}

struct Printer {
    std::string operator()(const TaskLine& task) const {
        std::string text = std::to_string(task.line) + " task [" + task.command + "]";
        if (task.environment_position > 0) text += " env=" + std::to_string(task.environment_position);
        for (const auto& group : task.groups) text += (group.sequential ? " :" : " +") + group.name;
        for (const auto worker : task.workers) text += " @" + std::to_string(worker);
        return text;
    }
    std::string operator()(const EnvironmentLine& line) const {
        std::string text =
            std::to_string(line.line) + " env " + std::to_string(line.position) + " [" + line.command + "]";
        for (const auto worker : line.workers) text += " @" + std::to_string(worker);
        return text;
    }
    std::string operator()(const SettingsLine& line) const {
        return std::to_string(line.line) + " settings" + text_of(line.settings);
    }
    std::string operator()(const CategorySettings& line) const {
        return std::to_string(line.line) + " category " + line.category.name;
    }
    std::string operator()(const Barrier& barrier) const { return std::to_string(barrier.line) + " barrier"; }
};

inline std::vector<std::string> texts_of(const std::vector<Item>& items) {
    std::vector<std::string> texts;
    for (const Item& item : items) texts.push_back(std::visit(Printer{}, item));
    return texts;
}

struct Reading {
    std::vector<Item> items;
    std::string error;  // empty: none
    std::uint64_t lines = 0;
    bool operator==(const Reading&) const = default;
};

inline Reading read_list(std::string_view text) {
    ListReader reader("list.sh");
    Reading reading;
    auto status = reader.feed(text, reading.items);
    if (status) status = reader.finish(reading.items);
    if (!status) reading.error = status.error().message;
    reading.lines = reader.lines();
    return reading;
}

}  // namespace wq::engine::tasklist::testing
