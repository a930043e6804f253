#include "base/background.h"

#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "base/signals.h"

namespace wq {

BackgroundThread::BackgroundThread() {
    if (!ended_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
    keep_freed_memory();
    const SignalsHeld held;  // other threads handle signals
    thread_ = std::thread([this] { run(); });
}

BackgroundThread::~BackgroundThread() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void BackgroundThread::post(Job job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
}

// An exception in a job (out of memory) is rethrown on the thread that calls finish().
BackgroundThread::Then BackgroundThread::outcome_of(const Job& job) {
    try {
        return job();
    } catch (...) {
        return [error = std::current_exception()] { std::rethrow_exception(error); };
    }
}

void BackgroundThread::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return over_ || !jobs_.empty(); });
        if (over_) return;
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        Then then = outcome_of(job);
        job = nullptr;  // it may hold open files
        lock.lock();
        if (!then) continue;
        finished_.push_back(std::move(then));
        any_finished_ = true;
        ended_.set();
    }
}

// The loop calls this each turn, so the common case makes no system call. Jobs that end meanwhile wait for
// the next turn; otherwise endless transfers would block the loop.
bool BackgroundThread::finish() {
    if (!any_finished_) return false;
    for (std::size_t left = waiting(); left > 0; --left) take()();
    waiting();
    return true;
}

std::size_t BackgroundThread::waiting() {
    const std::lock_guard lock(mutex_);
    if (finished_.empty()) {
        // Under the lock, so that a notification for the next job is not lost.
        ended_.clear();
        any_finished_ = false;
    }
    return finished_.size();
}

BackgroundThread::Then BackgroundThread::take() {
    const std::lock_guard lock(mutex_);
    Then then = std::move(finished_.front());
    finished_.pop_front();
    return then;
}

namespace {

bool set_by_user() {
    for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"})
        if (std::getenv(name) != nullptr) return true;
    return false;
}

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
    constexpr int kept = 16 << 20;
    constexpr int mapped_from = 4 << 20;  // frames with file parts are smaller
    static const bool done =
        !set_by_user() && mallopt(M_TRIM_THRESHOLD, kept) == 1 && mallopt(M_MMAP_THRESHOLD, mapped_from) == 1;
    static_cast<void>(done);
#endif
}

}  // namespace wq
