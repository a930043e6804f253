// Writes what tasks took as files for who asked for that, on a thread of its own: a folder may be slow.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "stats/records.h"

namespace wq::api {

struct Summary {
    stats::TaskRecord record;
    std::string category;
    std::string command;
    std::string host;
    // Each may be empty.
    std::string of_task;  // a folder: a file of its own there
    std::string of_all;   // a folder: a file of its own, and a line in that of all
};

class SummaryWriter {
  public:
    // `say` is called from any thread, once for each folder that cannot be written.
    explicit SummaryWriter(const std::function<void(const std::string&)>& say) : say_(say) {}
    ~SummaryWriter() { finish(); }
    SummaryWriter(const SummaryWriter&) = delete;

    // Ready once it is written, or could not be.
    std::shared_future<void> put(Summary summary);
    // Waits until all is written; nothing is put after it.
    void finish();

  private:
    struct Job {
        Summary summary;
        std::promise<void> written;
    };
    void run();
    void write(Job& job);
    void tell(const std::string& folder, const std::string& trouble);

    const std::function<void(const std::string&)>& say_;
    std::set<std::string> told_;  // folders

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool over_ = false;
    std::thread thread_;  // from the first job on
};

}  // namespace wq::api
