// A thread for work that may block, such as file access: a network file system can hang for minutes, and
// heartbeats must not wait for it. Jobs run one after the other, in the order given. A job may return a
// function that is then called on the thread of the loop.
//
// Long work is split into jobs that each post the next one, so that other jobs run in between.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/wake.h"

namespace wq {

inline constexpr std::size_t bytes_a_job = 4 << 20;  // limit for a job that reads or writes files

class Background {
  public:
    using Then = std::function<void()>;  // may be empty
    using Job = std::function<Then()>;

    virtual ~Background() = default;

    virtual void post(Job job) = 0;
    // Readable when a job has ended.
    virtual int descriptor() const = 0;
    // Calls the functions that ended jobs returned. Returns whether there were any.
    virtual bool finish() = 0;
};

// Implements Background with a separate thread. The thread ends with the object; jobs that have not started
// by then never run.
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
