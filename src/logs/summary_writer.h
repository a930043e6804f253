// Writes what tasks took as files for who asked for that, on a thread of its own: a folder may be slow, or
// not answer for hours. Nobody waits for it but who is to have the file.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/time.h"
#include "records/records.h"

namespace wq::logs {

struct Summary {
    std::int64_t id = 0;  // as programs have it
    records::TaskRecord record;
    std::string category;
    std::string command;
    std::string host;
    // Each may be empty.
    std::string of_task;  // a folder: a file of its own there
    std::string of_all;   // a folder: a file of its own, and a line in that of all
};

struct SummaryLimits {
    std::uint64_t most_bytes = 64u << 20;          // that wait to be written
    Duration patience = std::chrono::seconds(30);  // with a folder that does not answer
};

// Both are called on any thread, and never after finish().
struct SummaryCalls {
    std::function<void(const std::string&)> say;
    std::function<void(std::int64_t id)> written;  // or it could not be; its future is ready by then
};

class SummaryWriter {
  public:
    SummaryWriter(SummaryLimits limits, SummaryCalls calls);
    ~SummaryWriter() { finish(); }
    SummaryWriter(const SummaryWriter&) = delete;

    // ---- the manager's thread ----

    // Ready once it is written, or could not be.
    std::shared_future<void> put(Summary summary);
    std::uint64_t backlog_bytes() const;
    // Readable when the backlog was more than the most, and is half of that or less; until settle().
    int descriptor() const;
    void settle();
    // Says what is waited for where nothing was written for the patience; returns when to look again.
    std::optional<Instant> watch(Instant now);

    // ---- when that has ended ----

    // Waits until all is written, or nothing was for the patience. What is left then is written if its folder
    // answers while the process lives. Nothing is put after it.
    void finish();

  private:
    struct Job;
    struct Shared;
    static void run(const std::shared_ptr<Shared>& shared);

    std::shared_ptr<Shared> shared_;      // with the thread, which may have to be left alone
    std::thread thread_;                  // from the first job on
    std::uint64_t told_at_ = UINT64_MAX;  // how many were written when it was said that one takes long
    bool told_of_many_ = false;
};

}  // namespace wq::logs
