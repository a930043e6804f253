// A thread that reads elements ahead of who consumes them, into a queue of bounded size: that of a
// SliceProducer, and of prefetch() in a pipeline.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace [[gnu::visibility("default")]] wq {

struct ReadAheadThread {
    // It leaves the program's signals alone.
    static std::thread start(std::function<void()> work);
};

template <class T>
class ReadAhead {
  public:
    // `read`: the next element; false: there is none. Called by the thread, without a lock, when fewer than
    // `most` elements wait.
    ReadAhead(std::size_t most, std::function<bool(T&)> read) : most_(most), read_(std::move(read)) {}
    ~ReadAhead() { end(); }
    ReadAhead(const ReadAhead&) = delete;

    // Starts the thread if it has not been; next() does so, too.
    void start() {
        if (!thread_.joinable()) thread_ = ReadAheadThread::start([this] { run(); });
    }
    // Waits for the next element. False: there is none, or it is stopped. Throws what reading has thrown,
    // after the elements before.
    bool next(T& element) {
        start();
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return has_news(); });
        return take(element);
    }
    // The same. False also: none has come in this time.
    bool next_at_most(T& element, std::chrono::nanoseconds limit) {
        start();
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, limit, [this] { return has_news(); }) && take(element);
    }
    // On any thread: next() returns false from now on. Whoever calls it lets a `read` that waits return.
    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
    }
    // Stops; waits for the thread. Returns what nobody has consumed.
    std::deque<T> end() {
        stop();
        if (thread_.joinable()) thread_.join();
        return std::move(waiting_);
    }
    // After the end: reads again with the next next().
    void restart() {
        if (thread_.joinable()) thread_.join();
        ended_ = false;
        failure_ = nullptr;
    }

  private:
    bool has_news() const { return !waiting_.empty() || ended_ || stopped_; }
    bool take(T& element) {
        if (stopped_) return false;
        if (waiting_.empty()) {
            if (failure_) std::rethrow_exception(failure_);
            return false;
        }
        element = std::move(waiting_.front());
        waiting_.pop_front();
        changed_.notify_all();
        return true;
    }
    void run() {
        std::exception_ptr failure;
        try {
            while (read_one()) continue;
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        failure_ = failure;
        ended_ = true;
        changed_.notify_all();
    }
    bool read_one() {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return waiting_.size() < most_ || stopped_; });
            if (stopped_) return false;
        }
        T element;
        if (!read_(element)) return false;
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(element));
        changed_.notify_all();
        return true;
    }

    const std::size_t most_;
    const std::function<bool(T&)> read_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> waiting_;
    bool ended_ = false;  // by the thread
    bool stopped_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace gnu::visibility("default")]]wq
