// Writes reports on tasks to files, on a separate thread, because a folder may be slow or hang for hours.
// Only tasks with a report wait for it.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/time.h"
#include "records/journal/records.h"

namespace wq::records::logs {

struct Summary {
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
    std::shared_future<void> put(Summary summary);
    std::uint64_t backlog_bytes() const;
    // Readable when the backlog has exceeded the maximum and is now at most half of it; until settle().
    int descriptor() const;
    void settle();
    // Tells the user if nothing was written for `hang_limit`; returns when to call it again.
    std::optional<Instant> watch(Instant now);

    // ---- when that has ended ----

    // Waits until all is written, or nothing was written for `hang_limit`. The rest is written later if its
    // folder responds while the process lives. put() must not be called afterwards.
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

}  // namespace wq::records::logs
