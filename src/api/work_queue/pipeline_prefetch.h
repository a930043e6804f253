// The step of a pipeline that reads ahead (slice_pipeline.h).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "work_queue/pipeline_step.h"

namespace [[gnu::visibility("default")]] wq {

struct PipelineThread {
    // It leaves the program's signals alone.
    static std::thread start(std::function<void()> work);
};

template <class T>
class PipelinePrefetch final : public PipelineStep<T> {
  public:
    PipelinePrefetch(std::unique_ptr<PipelineStep<T>> from, std::size_t ahead)
        : from_(std::move(from)), ahead_(ahead) {}
    ~PipelinePrefetch() override {
        stop();
        if (thread_.joinable()) thread_.join();
    }

    // The thread starts here, since what it reads may not be restarted before.
    bool next(T& element) override {
        if (!thread_.joinable()) thread_ = PipelineThread::start([this] { run(); });
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !read_.empty() || ended_ || stopped_; });
        if (stopped_) return false;
        if (read_.empty()) {
            if (const auto failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
            return false;
        }
        element = std::move(read_.front());
        read_.pop_front();
        changed_.notify_all();
        return true;
    }
    void remember() override { from_->remember(); }
    void restart() override {
        if (thread_.joinable()) thread_.join();  // it has ended
        thread_ = {};
        from_->restart();
        ended_ = false;
    }
    void stop() override {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
        from_->stop();
    }

  private:
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
            changed_.wait(lock, [this] { return read_.size() < ahead_ || stopped_; });
            if (stopped_) return false;
        }
        T element;
        if (!from_->next(element)) return false;
        const std::lock_guard lock(mutex_);
        read_.push_back(std::move(element));
        changed_.notify_all();
        return true;
    }

    std::unique_ptr<PipelineStep<T>> from_;
    std::size_t ahead_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> read_;
    bool ended_ = false;  // by the thread
    bool stopped_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace gnu::visibility("default")]]wq
