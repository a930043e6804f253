// The source of tasks: a list (file or stream), `--each FILE` or `--array`. It feeds the task table and the
// manager, and reports tasks that ended in an earlier run, so that they do not run again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "base/result.h"
#include "engine/tasklist/sources.h"
#include "manager/manager.h"
#include "manager/run/list_categories.h"
#include "manager/task_table.h"
#include "records/journal/run_directory.h"
#include "records/recorder/recorder.h"

namespace wq::manager::run {

// Defaults for lines that specify nothing.
struct TaskDefaults {
    engine::model::Needs needs;
    Duration timeout{0};
    std::uint32_t retries = 0;
    bool keeps_batch_environment = false;
};

// Ends of tasks in an earlier run, by content.
struct EarlierRun {
    enum class End : std::uint8_t { done, failed };
    std::unordered_map<std::uint64_t, End> ends;
    // Attempts so far of tasks that will run again; this run continues the numbers.
    std::unordered_map<std::uint64_t, Attempt> attempts;
};

struct SourceOptions {
    TaskDefaults defaults;
    EarlierRun earlier;
    std::string run_directory;              // gets a copy of the source, `list`; empty: no copy
    bool measured = false;                  // tasks are measured, so categories learn
    ListCategories::Foreseen categories{};  // from check_source()
};

class Source {
  public:
    virtual ~Source() = default;

    // Poll it for reading; -1: read() never waits.
    virtual int descriptor() const = 0;

    // Whether read() has something, for sources whose descriptor is not always signalled. Called before a
    // wait; after false, the descriptor becomes readable when something comes.
    virtual bool has_more() { return false; }

    // When read() has something to do although nothing happens; nullopt: never.
    virtual std::optional<Instant> wakeup() const { return std::nullopt; }

    // An endless stream is read only as fast as its tasks end.
    virtual bool paced() const { return descriptor() >= 0; }

    // Passes on what is available, for at most about 10 ms. Error bad_input: nothing more is read.
    virtual Status read(manager::Manager& manager, engine::model::Now now) = 0;

    // Whether read() is called also while the run stops; then it adds no tasks.
    virtual bool works_while_stopping() const { return false; }

    virtual bool ended() const = 0;

    // "tasks.sh", "stdin", "--array 1-100": for messages and records.
    virtual std::string name() const = 0;
};

// The source on the command line.
struct SourceSpec {
    // `shared`: a list that workers of `runtask` mark, "FILE" or "USER@HOST:FILE" (shared_list/source/).
    enum class Kind : std::uint8_t { list, each, array, shared };
    Kind kind = Kind::list;
    std::string path;                  // of the list or --each's FILE; "-": standard input
    std::string indexes;               // for --array
    std::vector<std::string> command;  // after `--`

    std::string name() const;
    // Equal for two runs of the same source, whatever the list's content; --resume compares it.
    std::uint64_t fingerprint() const;
};

struct SourceSummary {
    std::uint64_t tasks = 0;
    bool complete = true;  // false: a stream, of which the rest is unknown
    ListCategories::Foreseen categories{};
};

// Reads a whole list without running anything, so that every bad line is found before the first task starts.
// Does not read streams.
Result<SourceSummary> check_source(const SourceSpec& spec);

// Reads the source's tasks without running anything; their templates must outlive the table. False: a stream,
// which cannot be read twice.
Result<bool> read_tasks(const SourceSpec& spec, const engine::tasklist::CommandTemplate& command,
                        manager::TaskTable& tasks);

Result<std::unique_ptr<Source>> open_source(const SourceSpec& spec, SourceOptions options,
                                            manager::TaskTable& tasks);

// Finds the indexes of `--array` that ended in an earlier run.
class ArrayEnds {
  public:
    // `earlier` is by index, as in the journals of arrays.
    explicit ArrayEnds(const EarlierRun& earlier);

    // Finds the items of `indexes` that have ended; item 0 is task `first`.
    void find(const engine::tasklist::IndexSet& indexes, TaskId first);

    const IntervalSet& done() const { return done_; }
    const IntervalSet& failed() const { return failed_; }
    // For tests: how many ends and items were examined. For each part of the array, these are the ends within
    // its span, or its items if they are fewer. So consecutive parts examine every end once.
    std::uint64_t looks() const { return looks_; }

  private:
    using End = std::pair<std::uint64_t, EarlierRun::End>;
    void find(const engine::tasklist::IndexRange& part, std::uint64_t first);

    std::vector<End> ends_;  // by index
    IntervalSet done_;
    IntervalSet failed_;
    std::uint64_t looks_ = 0;
};

// Maps keys to the tasks of a source, to number the records of an earlier run. It is read before the source,
// and exists only while a resumed run starts.
class TaskIndex final : public records::recorder::ListedTasks {
  public:
    // nullptr: a stream. Errors: those of check_source().
    static Result<std::unique_ptr<TaskIndex>> read(const SourceSpec& spec);

    std::optional<TaskId> find(records::journal::TaskKey key) const override;
    std::uint64_t line(TaskId task) const override { return tasks_.text(task).line; }
    std::string command(TaskId task) const override { return tasks_.command(task); }

  private:
    explicit TaskIndex(const SourceSpec& spec) : command_(spec.command) {}

    // For --array: the part's first task, and the largest index of this and earlier parts, by first index.
    struct Part {
        engine::tasklist::IndexRange indexes;
        std::uint64_t first_task = 0;
        std::uint64_t largest = 0;
    };
    void index_lines();
    void index_parts(const engine::tasklist::IndexSet& indexes);

    engine::tasklist::CommandTemplate command_;
    manager::TaskTable tasks_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> lines_;  // key, task; by key
    std::vector<Part> parts_;
};

}  // namespace wq::manager::run
