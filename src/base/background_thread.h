// Implements Background with a separate thread. The thread ends with the object; jobs that have not started
// by then never run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/background.h"
#include "base/wake.h"

namespace wq {

class BackgroundThread final : public Background {
  public:
    BackgroundThread();  // throws std::system_error if no thread can be created
    ~BackgroundThread() override;

    void post(Job job) override;
    int descriptor() const override { return ended_.descriptor(); }
    bool finish() override;

  private:
    void run();
    std::size_t waiting();
    Then take();
    static Then outcome_of(const Job& job);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    std::deque<Then> finished_;
    std::atomic<bool> any_finished_{false};
    bool over_ = false;
    Wake ended_;
    std::thread thread_;
};

}  // namespace wq
