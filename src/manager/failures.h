// What failed, for the summary: each distinct way once, with one example and how many others there were.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "core/outcome.h"

namespace wq::manager {

// As a task is named to users: "task 181", and "task 181 (line 182)" where its line has another number.
// `line`: in the list; 0: not from a list.
std::string place_of(TaskId task, std::uint64_t line);

struct FailureExample {
    TaskId task;
    Attempt attempt = 1;
    std::uint64_t line = 0;  // in the list; 0: not from a list
    std::string host;
    std::string command;
    core::Outcome outcome;
    std::string stderr_tail;  // last lines of it, at most 5
    std::uint64_t count = 1;  // failures like this one
    std::string category{};
};

struct SkippedExample {
    std::string reason;  // what makes it one kind
    std::string detail;  // what more the first message says; may be empty
    std::uint64_t count = 0;
    std::uint64_t first_line = 0;
    TaskId first;
    IntervalSet tasks{};
};

struct EnvironmentExample {  // a `#!` line that failed
    std::string line;
    int exit_code = 0;
    std::string text;           // its last words
    std::uint64_t workers = 1;  // on which it failed
};

class Failures {
  public:
    // Counted by line; of each the first example is kept.
    void add_environment(EnvironmentExample example);
    // Two failures are alike when they ended the same way and their last words, numbers aside, are the same;
    // and of those that took more than they were given, category and resource.
    void add(FailureExample example);
    // Whether the reason is a new one of those that are kept.
    bool skip(SkippedExample example);
    // Why the task was, where its reason is one of those that are kept.
    std::optional<std::string> why_skipped(TaskId task) const;

    static constexpr std::size_t most_kinds = 20;
    const std::vector<FailureExample>& kinds() const { return kinds_; }
    std::uint64_t of_other_kinds() const { return others_; }
    const std::vector<EnvironmentExample>& environment() const { return environment_; }
    const std::vector<SkippedExample>& skipped() const { return skipped_; }
    std::uint64_t skipped_for_other_reasons() const { return other_skipped_; }

  private:
    std::vector<FailureExample> kinds_;
    std::map<std::string, std::size_t> places_;
    std::uint64_t others_ = 0;
    std::vector<EnvironmentExample> environment_;
    std::vector<SkippedExample> skipped_;
    std::uint64_t other_skipped_ = 0;
};

// The last `lines` lines of `text`, without a newline at the end, each at most 200 characters.
std::string last_lines(const std::string& text, int lines);

}  // namespace wq::manager
