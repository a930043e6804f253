// The grammar of task lists: one shell line per task, with tags and `#WQ` lines. Converts text to values; the
// list is never edited and nothing is run. For users: share/doc/task-lists.md. The exact rules:
//
// * A line ends at LF, or CR LF; a UTF-8 mark at the list's start is skipped. Words are separated by blanks
//   (space, tab). Bad input: a control byte other than tab and escape, a line above 1 MiB, a command that
//   ends in an unescaped backslash (a task is one line; lines are never joined).
// * A tag word begins with `#` and is one or several of `#!`, `#@ID` (ID below 2^32), `#:NAME`, `#+NAME`,
//   joined (`#!#@1#@2`). NAME may be empty; else see is_name() in tags.h. The tags of a line are the tag
//   words at its end; the text before them, less blanks, is the command, which the shell reads including any
//   `#`.
// * A command's comment is the shell's: from a `#` outside quotes and substitutions at the start of a word. A
//   comment whose first or last word starts with `#!`, `#@`, `#:` or `#+` is an error, because it was meant
//   as tags and would be silently lost: `cmd #@x`, `cmd #:a b`, `cmd #:a # comment`. So is one that starts
//   with the word `#WQ` or `#WQ-CATEGORY`. Every other comment (`# text`, `#text`) stays part of the command.
// * A line whose first word starts with `#` is, in this order:
//   - `#WQ`: settings
//   - `#WQ-CATEGORY`: settings of a category (category_line.h)
//   - only tag words: a Barrier if they are a bare `#:`, else an error (tags without a command)
//   - a bare `#:` or `#!` followed by other words: an error (a barrier or environment line would be lost),
//     except `#! /...`
//   - else a comment, so `#!/bin/bash` and `#echo off #:a` are comments on any line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "engine/tasklist/category_line.h"
#include "engine/tasklist/sources.h"

namespace wq::engine::tasklist {

// The settings of all `#WQ key=value` lines so far; unset: the run's default.
struct Settings {
    std::optional<Count> cores;
    std::optional<std::int64_t> memory_mb;
    std::optional<std::int64_t> disk_mb;
    std::optional<Count> gpus;
    std::optional<Duration> time;  // limit of wall time
    std::optional<Duration> min_time;
    std::optional<std::uint32_t> retries;
    std::optional<std::string> category;
    std::optional<std::string> batch_environment;  // "keep" (environment_changes.h) or "hide"
    // A task's inputs and outputs, for workers that do not see our files: relative paths, below the folder in
    // which tasks run.
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    bool operator==(const Settings&) const = default;
};

struct GroupMembership {
    std::string name;         // may be empty: the group of all lines
    bool sequential = false;  // `#:name`; false: `#+name`
    bool operator==(const GroupMembership&) const = default;
};

struct TaskLine {
    std::uint64_t line = 0;                  // from 1
    std::string command;                     // without its tags and the blanks before them
    std::vector<GroupMembership> groups;     // as written, each name once (sequential wins); without a bare
                                             // `#+`, which every line has implicitly
    std::vector<std::uint32_t> workers;      // `#@i`; empty: any
    std::uint64_t environment_position = 0;  // number of `#!` lines above it
    bool operator==(const TaskLine&) const = default;
};

struct EnvironmentLine {  // `#!`
    std::uint64_t line = 0;
    std::uint64_t position = 0;  // 1 for the first of the list
    std::string command;
    std::vector<std::uint32_t> workers;
    bool operator==(const EnvironmentLine&) const = default;
};

struct SettingsLine {  // `#WQ`: applies to the tasks after it
    std::uint64_t line = 0;
    Settings settings;  // all settings from here on, not only the changed ones
    bool operator==(const SettingsLine&) const = default;
};

struct Barrier {  // a line that is a bare `#:`
    std::uint64_t line = 0;
    bool operator==(const Barrier&) const = default;
};

struct CategorySettings {  // `#WQ-CATEGORY`: applies to all tasks of the category, also to those above it
    std::uint64_t line = 0;
    CategoryLine category;
    std::string text;  // the line as written
    bool operator==(const CategorySettings&) const = default;
};

using Item = std::variant<TaskLine, EnvironmentLine, SettingsLine, CategorySettings, Barrier>;

// Reads a list in pieces of any size. After an error every call returns it again. Errors (bad_input) start
// with "NAME:LINE: ".
class ListReader {
  public:
    static constexpr std::size_t max_line_bytes = 1 << 20;

    explicit ListReader(std::string name) : name_(std::move(name)) {}

    // Appends the items of all lines that are now complete.
    Status feed(std::string_view bytes, std::vector<Item>& items);
    // End of input: the last line may lack its newline.
    Status finish(std::vector<Item>& items);

    std::uint64_t lines() const { return line_; }

  private:
    Status take_line(std::string_view line, std::vector<Item>& items);
    Result<std::optional<Item>> item_of(std::string_view line);
    Result<std::optional<Item>> hash_line(std::string_view line);
    Result<std::optional<Item>> command_line(std::string_view line);

    std::string name_;
    std::string partial_;
    std::uint64_t line_ = 0;
    std::uint64_t environment_lines_ = 0;
    Settings settings_;
    CategoryBounds category_bounds_;
    std::uint64_t outputs_made_at_ = 0;  // the line of the task that makes settings_.outputs; 0: none yet
    std::optional<Error> error_;
};

// Whether two arithmetic progressions have a common element, without enumerating them.

// The smallest common index. Indexes and steps are below 2^63.
std::optional<std::uint64_t> first_common(const IndexRange& a, const IndexRange& b);

}  // namespace wq::engine::tasklist
