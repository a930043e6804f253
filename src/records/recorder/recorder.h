// Writes the files that must not be lost: output.log, its index and the journal, in this order. A batch is
// prepared once and written in steps. A failed step is retried; the steps before it are not repeated.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model/outcome.h"
#include "records/journal/append_file.h"
#include "records/journal/journal.h"
#include "records/journal/output_log.h"
#include "records/journal/records.h"

namespace wq::records::recorder {

// Writes the run's results on a separate thread. Each batch of records goes, in this order, to output.log,
// the journal, and the derived files (stats.h5, joblog.tsv, transactions.log, the text statistics log). The
// manager never waits for a disk. acknowledged() tells it which records are written, so that they outlive
// every process of the run. They are synced to the disk every 5 s, so a power failure costs at most the ends
// of 5 s, which --resume runs again. After a failed sync the disk is not trusted any more: trouble() stays,
// and nothing more is acknowledged.
//
// A full disk or a dead file system stops the writing of output.log and the journal at the end of a record.
// The recorder tries again twice a second, and trouble() says so. Trouble with a derived file is reported
// once (notices()) and ends only that file.
struct RecorderOptions {
    std::string run_directory;  // exists and is locked: RunDirectory::take()
    std::string run_id;         // random, in the journal's header; an earlier journal keeps its own
    std::string list_name;      // the list, or a description of --array/--each, for messages
    std::uint64_t source_fingerprint = 0;  // recognizes "--resume of something else"
    std::string stats_log;                 // path of the text statistics log; empty: none
    std::vector<std::string> categories;   // names of the initial categories, by CategoryId
    // At least, from one write of output.log and the journal to the next: a write and its wake-ups serve many
    // records.
    Duration write_interval = std::chrono::milliseconds(20);
    Duration flush_interval = std::chrono::seconds(1);  // of stats.h5: maximum lag of a live reader
    Duration sync_interval = std::chrono::seconds(5);   // of output.log and the journal, to the disk
    std::string summaries;                              // folder for a report per task; empty: none
    bool failed_run_again = false;  // tasks that failed for good in an earlier run will run again
};

// The tasks of a resumed run, if they are known before it starts (not for a stream).
class ListedTasks {
  public:
    virtual ~ListedTasks() = default;
    virtual std::optional<TaskId> find(journal::TaskKey key) const = 0;  // nothing: no longer in the list
    virtual std::uint64_t line(TaskId task) const = 0;                   // from 1; 0: not from a list
    virtual std::string command(TaskId task) const = 0;
};

// A stream too large for memory, with a NUL behind its bytes; null: it is in engine::model::Output.
using LargeText = std::shared_ptr<const journal::MappedFile>;

struct Recorded {
    journal::TaskRecord record;
    engine::model::Output output;
    std::array<LargeText, 2> large{};  // stdout and stderr
    std::string command;               // for joblog.tsv
};

class Recorder {
  public:
    virtual ~Recorder() = default;  // closes the recorder
    // The recorder's needs; anything else need not be created.
    struct Wants {
        bool commands = true;      // Recorded::command
        bool transactions = true;  // transaction()
        bool waiting = true;       // includes TASK n WAITING, when the task is first dispatched
        bool reasons = true;       // waiting()
    };
    virtual Wants wants() const { return {}; }
    // Whether transaction() must be called when this task is dispatched.
    virtual bool wants_beginning(TaskId) const { return true; }
    virtual void task(Recorded ended) = 0;
    // Many successful calls of a range at once; acknowledged() counts each call.
    virtual void range(const journal::RangeRecord&) {}
    // Ends without an attempt.
    virtual void cancelled(const IntervalSet&, WallMicros) {}
    virtual void skipped(const IntervalSet&, const std::string& /*why*/, WallMicros) {}
    virtual void worker(const journal::WorkerRecord& record) = 0;  // on joining, and again on leaving
    virtual void sample(const journal::Sample& sample) = 0;
    // A category that options.categories did not have.
    virtual void category(CategoryId id, std::string name) = 0;
    // The settings or measurements of a category have changed.
    virtual void category_changed(const journal::CategoryRecord&) {}
    // Comes before the first record with its id.
    virtual void ask(const journal::AskRecord&) {}
    virtual void worker_changed(const journal::WorkerChangeRecord&) {}
    virtual void waiting(const journal::WaitingRecord&) {}
    // Transactions of Work Queue's log that are not an end: WAITING, RUNNING. `text` is everything after the
    // pid; see transactions.h for those of tasks. The recorder itself writes workers and ends.
    virtual void transaction(WallMicros when, std::string text) = 0;
    // No more records are expected soon: writes those that are there, without waiting for others.
    virtual void write_at_once() {}
    // Number of records of task() and tasks of range() in the journal.
    virtual std::uint64_t acknowledged() const = 0;
    // Bytes of unwritten records and output; if there are many, the manager dispatches less.
    virtual std::uint64_t backlog_bytes() const = 0;
    // Readable (level-triggered) after acknowledged(), trouble() or notices() changed, until settle().
    virtual int descriptor() const = 0;
    virtual void settle() = 0;
    // One line while output.log or the journal cannot be written ("disk full: .../journal: No space left on
    // device").
    virtual std::optional<std::string> trouble() const = 0;
    // Lines about derived files that ended, each reported once.
    virtual std::vector<std::string> notices() = 0;
    // Writes everything that can be written and ends the thread; nothing may be recorded afterwards. Error
    // interrupted: part of output.log or the journal could not be written.
    virtual Status close() = 0;
    // After close(): tasks that ended for good but are not in the journal.
    struct Unrecorded {
        std::uint64_t tasks = 0;
        std::uint64_t failed = 0;  // of them
    };
    virtual Unrecorded unrecorded() const = 0;
};

// If the directory has a journal, continues it (a torn tail is cut off) and rebuilds derived files from it;
// call read_journal() first to learn its contents. With `listed`, records of an earlier run get the present
// numbers and lines of their tasks, or 0 if the list no longer has them; without it, they keep their own.
// Errors: bad_input (a damaged journal), interrupted or not_allowed (output.log or the journal cannot be
// created).
Result<std::unique_ptr<Recorder>> open_recorder(const RecorderOptions& options,
                                                const ListedTasks* listed = nullptr);

class JournalWriter {
  public:
    // `valid_bytes`: of the existing journal; 0: creates it with `header`.
    static Result<JournalWriter> open(const std::string& run_directory, const journal::RunHeader& header,
                                      std::uint64_t valid_bytes);

    // Only call it while nothing is staged.
    void stage(const Recorded& ended);
    template <class Record>
    void stage(const Record& record) {
        journal_bytes_ += journal::encode_record(record);
    }
    // Writes what is staged, starting where an earlier call stopped. Error: try again later. After a failed
    // sync nothing more is written, and the error stays: the system then treats unwritten data as written, so
    // a later success would prove nothing about the disk.
    Status write();
    Status sync();

  private:
    enum class Step { data, index, journal };
    JournalWriter(journal::OutputLog output, journal::AppendFile journal)
        : output_(std::move(output)), journal_(std::move(journal)), batch_(output_.end()) {}

    journal::OutputLog output_;
    journal::AppendFile journal_;
    journal::OutputBatch batch_;
    std::string journal_bytes_;
    Step step_ = Step::data;
    bool unsynced_ = false;
    std::optional<Error> lost_;
};

}  // namespace wq::records::recorder
