#include "net/contact/repeated_work.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/signals.h"

namespace wq::net::contact {

struct RepeatedWork::State {
    const RepeatedWorkOptions options;
    std::mutex mutex;
    std::condition_variable changed;
    std::condition_variable over;
    Work work;
    bool urgent = false;
    bool ended = false;
    bool done = false;
    Status outcome = success();  // of the last time
    bool fails = false;          // as was said last

    explicit State(RepeatedWorkOptions how) : options(std::move(how)) {}

    void run() {
        std::unique_lock lock(mutex);
        while (wait_for_work(lock)) {
            urgent = false;
            const Work now = work;
            lock.unlock();
            Status tried = now();
            lock.lock();
            outcome = std::move(tried);
        }
        lock.unlock();
        if (options.last) options.last();
        lock.lock();
        done = true;
        over.notify_all();
    }

    // Returns false at the end.
    bool wait_for_work(std::unique_lock<std::mutex>& lock) {
        const auto is_due = [this] { return ended || urgent; };
        while (!ended) {
            if (!options.every)
                changed.wait(lock, is_due);
            else
                changed.wait_for(lock, *options.every, is_due);
            if (!ended && work) return true;
        }
        return false;
    }
};

RepeatedWork::RepeatedWork(RepeatedWorkOptions options)
    : state_(std::make_shared<State>(std::move(options))) {
    thread_ = quiet_thread([state = state_] { state->run(); });
}

RepeatedWork::~RepeatedWork() {
    std::unique_lock lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_one();
    const bool done = state_->over.wait_for(lock, state_->options.timeout, [this] { return state_->done; });
    lock.unlock();
    if (done) {
        thread_.join();
        return;
    }
    thread_.detach();
    if (!state_->options.not_ended.empty()) state_->options.say(state_->options.not_ended);
}

void RepeatedWork::post(Work work, When when) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->work = std::move(work);
        state_->urgent = state_->urgent || when == When::at_once;
        if (state_->urgent) state_->changed.notify_one();
    }
    report_outcome();
}

void RepeatedWork::report_outcome() {
    const RepeatedWorkOptions& options = state_->options;
    std::string line;
    {
        const std::lock_guard lock(state_->mutex);
        const bool fails = !state_->outcome.ok();
        if (std::exchange(state_->fails, fails) != fails)
            line = fails ? options.failed(state_->outcome.error().message) : options.succeeded_again;
    }
    if (!line.empty()) options.say(line);
}

}  // namespace wq::net::contact
