#include "listening/entry_keeper.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/units.h"
#include "threads/signals_held.h"

namespace wq::listening {

struct EntryKeeper::State {
    const EntryKeeping keeping;
    std::mutex mutex;
    std::condition_variable changed;
    std::condition_variable over;
    Workload load;
    bool urgent = false;
    bool ended = false;
    bool done = false;
    Status written = success();

    explicit State(EntryKeeping how) : keeping(std::move(how)) {}

    void keep() {
        std::unique_lock lock(mutex);
        while (!ended) {
            changed.wait_for(lock, keeping.every, [this] { return ended || urgent; });
            if (ended) break;
            urgent = false;
            const Workload now = load;
            lock.unlock();
            Status tried = keeping.write(now);  // if the file system fails, the next turn tries again
            lock.lock();
            if (written) written = std::move(tried);
        }
        lock.unlock();
        keeping.remove();
        lock.lock();
        done = true;
        over.notify_all();
    }
};

EntryKeeper::EntryKeeper(EntryKeeping keeping) : state_(std::make_shared<State>(std::move(keeping))) {
    const SignalsHeld held;
    thread_ = std::thread([state = state_] { state->keep(); });
}

EntryKeeper::~EntryKeeper() {
    std::unique_lock lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_one();
    const Duration timeout = state_->keeping.timeout;
    const bool done = state_->over.wait_for(lock, timeout, [this] { return state_->done; });
    lock.unlock();
    if (done) {
        thread_.join();
        return;
    }
    thread_.detach();
    state_->keeping.say("the registry of managers did not answer within " + format_duration(timeout) +
                        ": the entry of this manager may remain, and is skipped after 2 minutes");
}

void EntryKeeper::tell(const Workload& load) {
    std::string trouble;
    {
        const std::lock_guard lock(state_->mutex);
        state_->urgent = state_->urgent || (load.waiting > 0) != (state_->load.waiting > 0);
        state_->load = load;
        if (!state_->written && !said_) trouble = state_->written.error().message;
        if (state_->urgent) state_->changed.notify_one();
    }
    if (trouble.empty()) return;
    said_ = true;
    state_->keeping.say("the entry of this manager in the registry cannot be written: " + trouble +
                        "; workers do not find it by name after 2 minutes");
}

}  // namespace wq::listening
