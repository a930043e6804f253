#include "programs/slices/saver.h"

#include <exception>
#include <utility>

#include "base/signals.h"

namespace wq::programs::slices {

Saver::Saver(std::function<void()> save, std::function<void(const std::string&)> say, Duration every)
    : save_(std::move(save)), say_(std::move(say)) {
    this->save();
    if (every > Duration::zero()) thread_ = quiet_thread([this, every] { run(every); });
}

Saver::~Saver() {
    end_thread();
}

void Saver::end_thread() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    ending_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Saver::run(Duration every) {
    std::unique_lock lock(mutex_);
    while (!ending_.wait_for(lock, every, [this] { return over_; })) {
        lock.unlock();
        save();
        lock.lock();
    }
}

// A save that fails loses nothing yet, so the work goes on.
void Saver::save() {
    const std::lock_guard lock(saving_);
    std::string problem;
    try {
        save_();
    } catch (const std::exception& error) {
        problem = error.what();
    }
    if (!problem.empty() && problem != problem_) say_(problem);
    problem_ = problem;
}

bool Saver::finish() {
    end_thread();
    save();
    return problem_.empty();
}

}  // namespace wq::programs::slices
