#include "app/entry_keeper.h"

#include <condition_variable>
#include <mutex>

#include "base/signals_held.h"
#include "base/units.h"

namespace wq::app {

struct EntryKeeper::State {
    const EntryKeeping keeping;
    std::mutex mutex;
    std::condition_variable changed;
    std::condition_variable over;
    Workload load;
    bool urgent = false;
    bool ended = false;
    bool done = false;

    explicit State(EntryKeeping how) : keeping(std::move(how)) {}

    void keep() {
        std::unique_lock lock(mutex);
        while (!ended) {
            changed.wait_for(lock, keeping.every, [this] { return ended || urgent; });
            if (ended) break;
            urgent = false;
            const Workload now = load;
            lock.unlock();
            keeping.write(now);  // a file system that is away is tried again at the next turn
            lock.lock();
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
    const Duration patience = state_->keeping.patience;
    const bool done = state_->over.wait_for(lock, patience, [this] { return state_->done; });
    lock.unlock();
    if (done) {
        thread_.join();
        return;
    }
    thread_.detach();
    state_->keeping.say("the registry of managers did not answer within " + format_duration(patience) +
                        ": its entry of this manager may stay, and is passed over once it is 2 minutes old");
}

void EntryKeeper::tell(const Workload& load) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->urgent = state_->urgent || (load.waiting > 0) != (state_->load.waiting > 0);
        state_->load = load;
        if (!state_->urgent) return;
    }
    state_->changed.notify_one();
}

}  // namespace wq::app
