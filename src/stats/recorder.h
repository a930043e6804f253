// The run's memory: a thread of its own that takes what ended and writes, per batch of records and in this
// order, output.log, the journal, then everything derived (stats.h5, joblog.tsv, transactions.log, the text
// statistics log). The manager never waits for a disk; it learns by acknowledged() what is safe: written, so
// that it outlives every process of the run. To the disk itself it goes every 5 s, so a machine that loses
// power costs at most the ends of that time, which --resume runs again. A disk that fails at this is not
// trusted any more: trouble() stays, and nothing more is acknowledged.
//
// A full disk or a dead file system stops the writing of output.log and the journal at a record's border; the
// recorder tries again twice a second, and trouble() says so. Trouble with derived files is said once
// (notices()) and ends only them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/outcome.h"
#include "records/records.h"

namespace wq::stats {

struct RecorderOptions {
    std::string run_directory;  // exists and is held: RunDirectory::take()
    std::string run_id;         // random, in the journal's header; that of an earlier journal stays
    std::string list_name;      // of the list or a description of --array/--each, for messages
    std::uint64_t source_fingerprint = 0;  // what "--resume of something else" is told by
    std::string stats_log;                 // path of the text statistics log; empty: none
    std::vector<std::string> categories;   // names by CategoryId of those that are used from the start
    Duration flush_interval = std::chrono::seconds(1);  // of stats.h5: what a live reader may lag behind
    Duration sync_interval = std::chrono::seconds(5);   // of the truth, to the disk itself
    std::string summaries;          // folder for a report on what each task took; empty: none
    bool failed_run_again = false;  // what failed for good in an earlier run has attempts to come
};

// The tasks of a resumed run, where they are known before it begins (not those of a stream).
class ListedTasks {
  public:
    virtual ~ListedTasks() = default;
    virtual std::optional<TaskId> find(records::TaskKey key) const = 0;  // nothing: the list has it no more
    virtual std::uint64_t line(TaskId task) const = 0;                   // from 1; 0: not from a list
    virtual std::string command(TaskId task) const = 0;
};

struct Recorded {
    records::TaskRecord record;
    core::Output output;
    std::string command;  // for joblog.tsv
};

class Recorder {
  public:
    virtual ~Recorder() = default;  // closes
    // What is made for nobody where it is not wanted.
    struct Wants {
        bool commands = true;      // Recorded::command
        bool transactions = true;  // transaction()
        bool waiting = true;       // of these, TASK n WAITING, when it is first given out
    };
    virtual Wants wants() const { return {}; }
    // Whether transaction() is to tell when this task is given out.
    virtual bool wants_beginning(TaskId) const { return true; }
    virtual void task(Recorded ended) = 0;
    // Calls of a range that succeeded, many at once; counted in acknowledged() each for itself.
    virtual void range(const records::RangeRecord&) {}
    // Ends without an attempt.
    virtual void cancelled(const IntervalSet&, WallMicros) {}
    virtual void skipped(const IntervalSet&, const std::string& /*why*/, WallMicros) {}
    virtual void worker(const records::WorkerRecord& record) = 0;  // on joining, and again on leaving
    virtual void sample(const records::Sample& sample) = 0;
    // A category that options.categories did not have.
    virtual void category(CategoryId id, std::string name) = 0;
    // What is said or known of one has changed.
    virtual void category_changed(const records::CategoryRecord&) {}
    // Transactions of Work Queue's log that are not an end: WAITING, RUNNING. `text` is all after the pid;
    // see transactions.h for those of tasks. Workers and ends are written by themselves.
    virtual void transaction(WallMicros when, std::string text) = 0;
    // Records of task() and tasks of range() that are in the journal.
    virtual std::uint64_t acknowledged() const = 0;
    // Bytes of records and output that wait to be written: the manager gives out less while it is large.
    virtual std::uint64_t backlog_bytes() const = 0;
    // Readable (level) after acknowledged(), trouble() or notices() changed, until settle().
    virtual int descriptor() const = 0;
    virtual void settle() = 0;
    // One line while the truth cannot be written ("disk full: .../journal: No space left on device").
    virtual std::optional<std::string> trouble() const = 0;
    // Lines about derived files that ended, each told once.
    virtual std::vector<std::string> notices() = 0;
    // Writes all that can be written and ends the thread; nothing may be recorded after it.
    // Error interrupted: something of the truth could not be written.
    virtual Status close() = 0;
    // After close(): tasks that ended for good and are not in the journal.
    struct Unrecorded {
        std::uint64_t tasks = 0;
        std::uint64_t failed = 0;  // of them
    };
    virtual Unrecorded unrecorded() const = 0;
};

// Where the directory holds a journal, it is continued (a torn tail is cut off) and derived files are rebuilt
// from it; read it with read_journal() before, to know what it holds. With `listed` what an earlier run
// recorded gets the numbers and lines that the tasks have now, 0 where the list has them no more; without it
// keeps those it had. Errors: bad_input (a damaged journal), interrupted or not_allowed (a file of the truth
// cannot be made).
Result<std::unique_ptr<Recorder>> open_recorder(const RecorderOptions& options,
                                                const ListedTasks* listed = nullptr);

}  // namespace wq::stats
