// The grammar of task lists: one shell line per task, with tags and `#WQ` lines. Pure text to values; the list is
// never edited and nothing is run. Grammar: share/doc/task-lists.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace wq::taskfile {

// What `#WQ key=value` lines have said so far; unset: the run's default.
struct Settings {
    std::optional<std::int64_t> cores;
    std::optional<std::int64_t> memory_mb;
    std::optional<std::int64_t> disk_mb;
    std::optional<std::int64_t> gpus;
    std::optional<Duration> time;       // limit of wall time
    std::optional<Duration> min_time;
    std::optional<std::uint32_t> retries;
    std::optional<std::string> category;
    bool operator==(const Settings&) const = default;
};

struct GroupMembership {
    std::string name;         // may be empty: the group of all lines
    bool sequential = false;  // `#:name`; false: `#+name`
    bool operator==(const GroupMembership&) const = default;
};

struct TaskLine {
    std::uint64_t line = 0;               // from 1
    std::string command;                  // without its tags and the blanks before them
    std::vector<GroupMembership> groups;  // as written, without duplicates
    std::vector<std::uint32_t> workers;   // `#@i`; empty: any
    std::uint64_t environment_position = 0;  // number of `#!` lines above it
};

struct EnvironmentLine {  // `#!`
    std::uint64_t line = 0;
    std::uint64_t position = 0;           // 1 for the first of the list
    std::string command;
    std::vector<std::uint32_t> workers;
};

struct SettingsLine {  // `#WQ`: holds for the tasks after it
    std::uint64_t line = 0;
    Settings settings;                    // all that holds from here on, not only what changed
};

struct Barrier {  // a line that is a bare `#:`
    std::uint64_t line = 0;
};

using Item = std::variant<TaskLine, EnvironmentLine, SettingsLine, Barrier>;

// Reads a list as it comes, in pieces of any size. After an error every call returns it again.
// Errors (bad_input) start with "NAME:LINE: ".
class ListReader {
  public:
    static constexpr std::size_t max_line_bytes = 1 << 20;

    explicit ListReader(std::string name) : name_(std::move(name)) {}

    // Appends the items of all lines that are complete now.
    Status feed(std::string_view bytes, std::vector<Item>& items);
    // The input is over: the last line may lack its newline.
    Status finish(std::vector<Item>& items);

    std::uint64_t lines() const { return line_; }

  private:
    Status take_line(std::string_view line, std::vector<Item>& items);

    std::string name_;
    std::string partial_;
    std::uint64_t line_ = 0;
    std::uint64_t environment_lines_ = 0;
    Settings settings_;
    std::optional<Error> error_;
};

}  // namespace wq::taskfile
