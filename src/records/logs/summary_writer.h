// FOLDER/wq-PID.summaries: the summaries of all managers of this process, one per line.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/model/events.h"
#include "records/journal/records.h"

namespace wq::records::logs {

// Appends the whole line or nothing. The first call starts the file anew: a file of another process with the
// same id belongs to another run, and is kept as PATH.1, PATH.2 and so on. Returns 0 or an errno.
int append_summary(const std::string& path, const std::string& line);

// Writes reports on tasks to files, on a separate thread, because a folder may be slow or hang for hours.
// Only tasks with a report wait for it.
struct TaskSummary {
    std::int64_t id = 0;  // the program's id
    journal::TaskRecord record;
    std::string category;
    std::string command;
    std::string host;
    // Each may be empty.
    std::string of_task;  // folder for the task's own report
    std::string of_all;   // folder for the task's report, and for a line in the common file
};

struct SummaryLimits {
    std::uint64_t most_bytes = 64u << 20;            // waiting to be written
    Duration hang_limit = std::chrono::seconds(30);  // how long a folder may hang
};

// Both are called on any thread, but never after finish().
struct SummaryCalls {
    std::function<void(const std::string&)> say;
    std::function<void(std::int64_t id)> written;  // written or failed; its future is ready
};

class SummaryWriter {
  public:
    SummaryWriter(SummaryLimits limits, SummaryCalls calls);
    ~SummaryWriter() { finish(); }
    SummaryWriter(const SummaryWriter&) = delete;

    // ---- the manager's thread ----

    // Ready once the report is written or has failed.
    std::shared_future<void> queue_summary(TaskSummary summary);
    std::uint64_t backlog_bytes() const;
    // Readable when the backlog has exceeded the maximum and is now at most half of it; until settle().
    int descriptor() const;
    void settle();
    // Tells the user if nothing was written for `hang_limit`; returns when to call it again.
    std::optional<Instant> watch(Instant now);

    // ---- when that has ended ----

    // Waits until all is written, or nothing was written for `hang_limit`. The rest is written later if its
    // folder responds while the process lives. queue_summary() must not be called afterwards.
    void finish();

  private:
    struct Job;
    struct Shared;
    static void run(const std::shared_ptr<Shared>& shared);

    std::shared_ptr<Shared> shared_;      // with the thread, which may have to be abandoned
    std::thread thread_;                  // started by the first job
    std::uint64_t told_at_ = UINT64_MAX;  // value of `written` at the last message about a slow folder
    bool told_of_many_ = false;
};

// Usage of an earlier run's tasks, read from the file in which a manager gathered their summaries.
struct EarlierSummaries {
    std::map<std::string, std::vector<engine::model::CategorySample>>
        samples;          // by category; successful tasks only
    std::string warning;  // about skipped parts, one line; empty: nothing was skipped
};

// The file has JSON summaries, each starting at the beginning of a line. Anything else, such as half a
// summary left by a full disk, is skipped up to the next one. Error (bad_input): the file cannot be read, or
// has no summaries; the line names it.
Result<EarlierSummaries> read_summaries(const std::string& path);

}  // namespace wq::records::logs
