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

#include "base/descriptor.h"

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

// Makes a process keep freed memory for its next allocation.

// Lets glibc keep up to 16 MiB per arena instead of returning large blocks to the kernel at once. File
// transfers allocate and free buffers 4,000 times per gigabyte, and otherwise fault in their pages each time
// (1 GB over loopback: 250,000 page faults and 4.4 s; with this, 13,000 and 0.8 s). It applies to the whole
// process, once. If the user has set MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or GLIBC_TUNABLES, or
// without glibc, it does nothing.
void keep_freed_memory();

}  // namespace wq
