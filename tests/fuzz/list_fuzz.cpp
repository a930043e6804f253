// Any bytes, split in two ways, give the same items and the same one-line error; a task line reads the same
// after writing it again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tasklist/list.h"
#include "engine/tasklist/settings.h"
#include "engine/tasklist/sources.h"
#include "require.h"

namespace {

using wq::fuzz::require;
using namespace wq::engine::tasklist;

struct Reading {
    std::vector<Item> items;
    std::string error;
    bool operator==(const Reading&) const = default;
};

Reading read_list(std::string_view text, std::size_t piece) {
    ListReader reader("list");
    Reading reading;
    auto status = wq::success();
    for (std::size_t at = 0; at < text.size() && status; at += piece) {
        status = reader.feed(text.substr(at, piece), reading.items);
    }
    if (status) status = reader.finish(reading.items);
    if (!status) reading.error = status.error().message;
    return reading;
}

void check_error(const std::string& error) {
    if (error.empty()) return;
    require(error.starts_with("list:"), "an error names its list");
    for (const char c : error) require(static_cast<unsigned char>(c) >= 0x20, "an error is one line");
}

void check_task(const TaskLine& task) {
    require(!task.command.empty(), "a task has a command");
    std::string line = "\n" + task.command;  // not the first line, where a UTF-8 mark would be skipped
    for (const auto& group : task.groups) line += (group.sequential ? " #:" : " #+") + group.name;
    for (const auto worker : task.workers) line += " #@" + std::to_string(worker);
    Reading again = read_list(line, line.size());
    require(again.error.empty() && again.items.size() == 1, "a task written again reads");
    auto* copy = std::get_if<TaskLine>(&again.items.front());
    require(copy != nullptr, "a task written again is a task");
    copy->line = task.line;
    copy->environment_position = task.environment_position;
    require(*copy == task, "a task written again reads the same");
    if (!needs_shell(task.command)) {
        std::string joined;
        for (const auto& word : split_words(task.command)) {
            require(shell_quote(word) == word, "a word that needs no shell needs no quotes");
            joined += word;
        }
        require(!joined.empty(), "a command has words");
    }
}

void check_settings(std::string_view words) {
    const Settings before{.cores = 3, .memory_mb = 4, .category = "old"};
    Settings settings = before;
    if (const auto applied = apply_settings(words, settings); !applied) {
        require(settings == before, "settings are applied all or none");
        require(applied.error().message.find('\n') == std::string::npos, "an error is one line");
        return;
    }
    for (const std::optional<wq::Count>& amount :
         {settings.cores, std::optional<wq::Count>(settings.memory_mb),
          std::optional<wq::Count>(settings.disk_mb), settings.gpus})
        require(!amount || *amount >= 0, "an amount is not negative");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Reading whole = read_list(text, size + 1);
    const std::size_t piece = size == 0 ? 1 : 1 + data[0] % 13;
    require(read_list(text, piece) == whole, "pieces give the same as the whole");
    check_error(whole.error);
    for (const Item& item : whole.items) {
        if (const auto* task = std::get_if<TaskLine>(&item)) check_task(*task);
    }
    check_settings(text);
    if (const auto set = IndexSet::parse(text)) {
        require(set->at(0) == set->ranges().front().first, "the first index is the first range's");
        require(set->at(set->count() - 1) == set->ranges().back().last, "the last index is the last range's");
    }
    return 0;
}
