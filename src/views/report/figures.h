// The figures of a run that its reports show: by category, by host, by kind of failure, and the slowest
// tasks.
//
// A row of a range (calls > 1) counts as that many attempts, each with the mean of the row's sums. Figures of
// time and use are of attempts that ran and ended; those of a lost worker have none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/model/outcome.h"
#include "views/model/run_view.h"
#include "views/report/spread.h"

namespace wq::views::report {

// Attempts that are counted as one kind of failure.
struct FailureKind {
    engine::model::Ending ending = engine::model::Ending::exited;
    std::int32_t exit_code = 0;  // of Ending::exited alone
    std::uint16_t signal = 0;    // of Ending::signalled alone
    auto operator<=>(const FailureKind&) const = default;
};
FailureKind kind_of(const model::RunAttempt& attempt);
std::string describe(const FailureKind& kind);  // "exit 3", "signal 11 (SIGSEGV)", "worker lost"

struct FailureCount {
    FailureKind kind;
    std::uint64_t attempts = 0;
};

// What attempts asked for, that is, their allocation; and what they used.
struct AskedAndUsed {
    Spread asked;
    Spread used;
    Spread percent;  // used of asked
};

struct CategoryFigures {
    std::string name;
    std::uint32_t place = model::no_place;  // in RunView::categories
    std::uint64_t attempts = 0;             // ended ones
    std::uint64_t succeeded = 0;
    std::uint64_t running = 0;
    std::vector<FailureCount> failures;  // most first
    Spread wall_seconds;
    AskedAndUsed cores;  // used: processor time by run time
    AskedAndUsed memory_mb;
    AskedAndUsed disk_mb;
    Spread bytes_in;  // of files
    Spread bytes_out;
    double core_seconds = 0;        // allocated while its attempts ran
    double used_core_seconds = -1;  // of these; -1: not recorded
    std::uint64_t failed() const { return attempts - succeeded; }
};

struct HostFigures {
    std::string name;
    std::uint64_t workers = 0;
    std::uint64_t attempts = 0;  // ended ones
    std::uint64_t failed = 0;
    double offered_core_seconds = 0;
    double core_seconds = 0;        // allocated while attempts ran
    double used_core_seconds = -1;  // also above the allocation; -1: not recorded
    double mean_wall_seconds = 0;   // of successes; 0: there are none
    // Run time of its successes by the time that these would take at the mean of the other hosts, category by
    // category; 0: no other host ran such tasks.
    double slowness = 0;
};

struct SlowAttempt {
    std::uint64_t task = 0;
    std::int64_t line = 0;  // 0: none
    std::uint32_t attempt = 1;
    double wall_seconds = 0;
    std::string category;
    std::string host;
    std::string command{};  // empty: not known
};

struct FailureExample {
    std::uint64_t task = 0;
    std::int64_t line = 0;
    std::uint32_t attempt = 1;
    bool is_final = false;
    std::string category;
    std::string host;
    std::string stderr_end;  // empty: none, or not known
    std::string command{};   // empty: not known
};

struct FailureGroup {
    FailureKind kind;
    std::uint64_t attempts = 0;
    std::vector<FailureExample> examples;  // at most most_examples, those without a further attempt first
};

inline constexpr std::size_t most_examples = 3;
inline constexpr std::size_t most_told = 10;  // groups whose examples have texts
inline constexpr std::size_t most_slow = 10;

struct RunFigures {
    std::uint64_t tasks_succeeded = 0;
    std::uint64_t tasks_failed = 0;                 // for good
    std::int64_t tasks_left = model::not_recorded;  // neither of these
    std::uint64_t attempts = 0;                     // ended ones
    std::uint64_t attempts_failed = 0;
    std::uint64_t attempts_running = 0;
    std::uint64_t tasks_never_ran = 0;  // of tasks_failed
    std::int64_t makespan_us = 0;       // without the pauses between sessions
    double tasks_per_second = 0;
    std::int64_t most_cores = 0;              // offered at once, thousandths
    std::vector<CategoryFigures> categories;  // those with most core time first
    std::vector<HostFigures> hosts;           // by name
    std::vector<FailureGroup> failures;       // most first
    std::vector<SlowAttempt> slowest;         // at most most_slow, of single calls
};

// Texts of an attempt that are in other files of its run; empty: not known.
using TextOf = std::function<std::string(const model::RunAttempt&)>;
struct AttemptTexts {
    TextOf stderr_end{};  // the last lines that it wrote to stderr
    TextOf command{};
};

// Asks for texts of the slowest attempts, and of examples of the first most_told groups of failures. n
// attempts cost O(n log n), and 20 bytes each for a while.
RunFigures figures_of(const model::RunView& run, const AttemptTexts& texts = {});

// Names of a table of the run; "" without a place there.
const std::string& category_of(const model::RunView& run, const model::RunAttempt& attempt);
const std::string& host_of(const model::RunView& run, const model::RunAttempt& attempt);

// When it began to take its worker's time, and when that ended; both in the run's time, the end never before
// the begin. A running attempt ends with the run.
struct TimeSpan {
    WallMicros begin = 0;
    WallMicros end = 0;
};
TimeSpan time_span_of(const model::RunView& run, const model::RunAttempt& attempt);

}  // namespace wq::views::report
