// Failures for the summary: each kind once, with one example and the number of others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "engine/model/outcome.h"

namespace wq::manager {

// The name of a task for users: "task 181", or "task 181 (line 182)" if the numbers differ. `line`: in the
// list; 0: not from a list.
std::string place_of(TaskId task, std::uint64_t line);

struct FailureExample {
    TaskId task;
    Attempt attempt = 1;
    std::uint64_t line = 0;  // in the list; 0: not from a list
    std::string host;
    std::string command;
    engine::model::Outcome outcome;
    std::string stderr_tail;  // lines_of_cause() of it
    std::uint64_t count = 1;  // failures like this one
    std::string category{};
};

struct SkippedExample {
    std::string reason;  // tasks with this reason count as one kind
    std::string detail;  // added to the first message; may be empty
    std::uint64_t count = 0;
    std::uint64_t first_line = 0;
    TaskId first;
    IntervalSet tasks{};
};

struct EnvironmentExample {  // a `#!` line that failed
    std::string line;
    int exit_code = 0;
    std::string text;           // its last lines
    std::uint64_t workers = 1;  // number of workers on which it failed
};

class Failures {
  public:
    // Counts failures by line, and keeps the first example of each.
    void add_environment(EnvironmentExample example);
    // Two failures are alike if they ended the same way and their last lines are equal, apart from numbers.
    // Failures that exceeded their allocation must also have the same category and resource.
    void add(FailureExample example);
    // Returns whether the reason is new and was kept.
    bool skip(SkippedExample example);
    // The reason why the task was skipped, if that reason was kept.
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

// The last 5 lines of a task's stderr. mpirun ends it with paragraphs between rulers, in which the cause
// comes first: then the first 3 lines and the last 2, without rulers and empty lines.
std::string lines_of_cause(const std::string& text);

// The last `lines` lines of `text`, without a newline at the end, each at most 200 characters.
std::string last_lines(const std::string& text, int lines);

}  // namespace wq::manager
