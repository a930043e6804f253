// Where tasks come from: a list (file or stream), `--each FILE` or `--array`. A source feeds the task table
// and the manager. It also passes on what an earlier run did, so that this does not run again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "manager/manager.h"
#include "manager/task_table.h"
#include "records/run_directory.h"
#include "run/list_categories.h"

namespace wq::run {

// What a task line that says nothing is given.
struct TaskDefaults {
    core::Needs needs;
    Duration timeout{0};
    std::uint32_t retries = 0;
};

// Ends of tasks in an earlier run, by content.
struct EarlierRun {
    enum class End : std::uint8_t { done, failed };
    std::unordered_map<std::uint64_t, End> ends;
    // Attempts so far of tasks that will run again: theirs are counted on from there.
    std::unordered_map<std::uint64_t, Attempt> attempts;
};

struct SourceOptions {
    TaskDefaults defaults;
    EarlierRun earlier;
    std::string run_directory;              // its `list` copy is written there; empty: none is kept
    bool measured = false;                  // tasks are: what categories learn from
    ListCategories::Foreseen categories{};  // by check_source()
};

class Source {
  public:
    virtual ~Source() = default;

    // Poll it for reading; -1: read() never waits.
    virtual int descriptor() const = 0;

    // Whether read() would find something, for sources whose descriptor is not always told: asked before a
    // wait, and the descriptor is readable when something comes after a no.
    virtual bool has_more() { return false; }

    // A stream without end is read as fast as its tasks end.
    virtual bool paced() const { return descriptor() >= 0; }

    // Takes what is there, at most some 10 ms of work, and passes it on. Error bad_input: nothing of the rest
    // is read.
    virtual Status read(manager::Manager& manager, core::Now now) = 0;

    virtual bool ended() const = 0;

    // "tasks.sh", "stdin", "--array 1-100": for messages and the run's records.
    virtual std::string name() const = 0;
};

// What is given on the command line.
struct SourceSpec {
    enum class Kind : std::uint8_t { list, each, array };
    Kind kind = Kind::list;
    std::string path;                  // of the list or of --each's FILE; "-": standard input
    std::string indexes;               // of --array
    std::vector<std::string> command;  // after `--`

    std::string name() const;
    // Equal for two runs of the same source, whatever the list's content: what --resume compares.
    std::uint64_t fingerprint() const;
};

struct SourceSummary {
    std::uint64_t tasks = 0;
    bool complete = true;  // false: a stream, whose rest is not known yet
    ListCategories::Foreseen categories{};
};

// Reads a whole list without running anything: every bad line is found before the first task starts.
// Streams are not looked at.
Result<SourceSummary> check_source(const SourceSpec& spec);

// The tasks of the source without running anything; their templates must outlive the table. False: a stream,
// which cannot be read twice.
Result<bool> read_tasks(const SourceSpec& spec, const taskfile::CommandTemplate& command,
                        manager::TaskTable& tasks);

Result<std::unique_ptr<Source>> open_source(const SourceSpec& spec, SourceOptions options,
                                            manager::TaskTable& tasks);

}  // namespace wq::run
