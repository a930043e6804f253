// The run's memory: a thread of its own that takes what ended and writes, per batch of records and in this order,
// output.log, the journal, then everything derived (stats.h5, joblog.tsv, transactions.log, the text statistics log).
// The manager never waits for a disk; it learns by acknowledged() what is safe.
//
// A full disk or a dead file system stops the writing of output.log and the journal at a record's border; the
// recorder tries again, and trouble() says so. Trouble with derived files is said once and ends only them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "stats/records.h"

namespace wq::stats {

struct RecorderOptions {
    std::string run_directory;
    std::string run_id;                       // random, in the journal's header
    std::string list_name;                    // of the list or a description of --array/--each, for messages
    std::uint64_t source_fingerprint = 0;     // what "--resume of something else" is told by
    std::string stats_log;                    // path of the text statistics log; empty: none
    std::vector<std::string> categories;      // names by CategoryId
};

struct Recorded {
    TaskRecord record;
    core::Output output;
    std::string command;                      // for joblog.tsv and failed.sh
    std::string failed_lines;                 // what failed.sh gets if it failed for good: the line with its #WQ and #! context; may be empty
};

class Recorder {
  public:
    virtual ~Recorder() = default;
    virtual void task(Recorded ended) = 0;
    virtual void worker(const WorkerRecord& record) = 0;    // on joining, and again on leaving
    virtual void sample(const Sample& sample) = 0;
    // Transactions of Work Queue's log that are not an end: WAITING, RUNNING. `text` is all after the pid.
    virtual void transaction(WallMicros when, std::string text) = 0;
    // Records of task() that are in the journal.
    virtual std::uint64_t acknowledged() const = 0;
    // Readable when acknowledged() or trouble() changed.
    virtual int descriptor() const = 0;
    // One line while the truth cannot be written ("disk full: .../journal: No space left on device").
    virtual std::optional<std::string> trouble() const = 0;
    // Writes all that can be written and ends the thread. Error: something of the truth could not be.
    virtual Status close() = 0;
};

// `resumed`: what an earlier journal of this directory holds; derived files are rebuilt from it.
Result<std::unique_ptr<Recorder>> open_recorder(const RecorderOptions& options);

}  // namespace wq::stats
