#include "net/contact/keeper.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/quiet_thread.h"

namespace wq::net::contact {

struct Keeper::State {
    const Keeping keeping;
    std::mutex mutex;
    std::condition_variable changed;
    std::condition_variable over;
    Work work;
    bool urgent = false;
    bool ended = false;
    bool done = false;
    Status outcome = success();  // of the last time
    bool fails = false;          // as was said last

    explicit State(Keeping how) : keeping(std::move(how)) {}

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
        if (keeping.last) keeping.last();
        lock.lock();
        done = true;
        over.notify_all();
    }

    // Returns false at the end.
    bool wait_for_work(std::unique_lock<std::mutex>& lock) {
        const auto is_due = [this] { return ended || urgent; };
        while (!ended) {
            if (!keeping.every)
                changed.wait(lock, is_due);
            else
                changed.wait_for(lock, *keeping.every, is_due);
            if (!ended && work) return true;
        }
        return false;
    }
};

Keeper::Keeper(Keeping keeping) : state_(std::make_shared<State>(std::move(keeping))) {
    thread_ = quiet_thread([state = state_] { state->run(); });
}

Keeper::~Keeper() {
    std::unique_lock lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_one();
    const bool done = state_->over.wait_for(lock, state_->keeping.timeout, [this] { return state_->done; });
    lock.unlock();
    if (done) {
        thread_.join();
        return;
    }
    thread_.detach();
    if (!state_->keeping.not_ended.empty()) state_->keeping.say(state_->keeping.not_ended);
}

void Keeper::post(Work work, bool at_once) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->work = std::move(work);
        state_->urgent = state_->urgent || at_once;
        if (state_->urgent) state_->changed.notify_one();
    }
    look();
}

void Keeper::look() {
    const Keeping& keeping = state_->keeping;
    std::string line;
    {
        const std::lock_guard lock(state_->mutex);
        const bool fails = !state_->outcome.ok();
        if (std::exchange(state_->fails, fails) != fails)
            line = fails ? keeping.failed(state_->outcome.error().message) : keeping.succeeded_again;
    }
    if (!line.empty()) keeping.say(line);
}

}  // namespace wq::net::contact
