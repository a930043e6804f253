#include "node/launcher/lane.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace wq::node::launcher {

namespace {

constexpr std::size_t stack_bytes = 1u << 20;

// False: this thread has no child.
bool wait_for_own_child() {
    siginfo_t info{};
    for (;;) {
        if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | __WALL | __WNOTHREAD) == 0) return true;
        if (errno != EINTR) return false;
    }
}

}  // namespace

Starters::Starters(std::vector<machine::CpuMask> cores, Work& work) : work_(work) {
    cores.resize(std::min(cores.size(), most_starters));
    for (machine::CpuMask& core : cores) starters_.emplace_back(*this, starters_.size(), std::move(core));
}

bool Starters::leave_to(Index starter, Index by) {
    if (starter != loop) return (by == loop || !starters_[starter].wanted) && ask(starter);
    ask_loop();
    return true;
}

bool Starters::ask(Index starter) {
    Starter& asked = starters_[starter];
    if (!asked.idle || (!asked.there && !create(starter))) return false;
    if (!std::exchange(asked.wanted, true)) asked.asked.notify_one();
    return true;
}

void Starters::ask_loop() {
    loop_asked_.set();
}

void Starters::take() {
    loop_asked_.clear();
}

bool Starters::create(Index starter) {
    // The usual 8 MiB of stack each would count where a batch system limits address space.
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, stack_bytes);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    pthread_t thread{};
    // Error: no more processes are allowed. The one that asked goes on alone.
    starters_[starter].there = pthread_create(&thread, &small, run_starter, &starters_[starter]) == 0;
    pthread_attr_destroy(&small);
    return starters_[starter].there;
}

void* Starters::run_starter(void* raw) {
    auto& self = *static_cast<Starter*>(raw);
    self.owner.run(self);
    return nullptr;
}

void Starters::run(Starter& self) {
    prctl(PR_SET_NAME, "wq_starter");
    if (self.mask.bytes() != 0) self.mask.apply_to(0);
    for (;;) {
        const bool child_ended = wait_for_own_child();
        std::unique_lock turn(lock_);
        if (!child_ended) {
            self.idle = true;
            self.asked.wait(turn, [&] { return self.wanted; });
        }
        self.wanted = false;
        self.idle = false;
        if (!work_.run_turn(self.index, child_ended)) self.asked.wait(turn, [] { return false; });
    }
}

Lane* Lanes::acquire() {
    if (idle_.empty()) {
        const std::string temporary = scratch_.empty() ? "" : scratch_ + "/" + std::to_string(all_.size());
        try {
            all_.push_back(std::make_unique<Lane>(all_.size(), base_, temporary, gpu_variable_, hosts_));
        } catch (const std::bad_alloc&) {
            errno = ENOMEM;
            return nullptr;
        }
        idle_.push_back(all_.back().get());
    }
    Lane* const lane = idle_.back();
    for (process::Capture* stream : {&lane->out, &lane->err})
        if (!stream->has_pipe() && !stream->renew()) return nullptr;
    idle_.pop_back();
    running_.add(*lane);
    lane->begin_anew();
    lane->announced = lane->executed = false;
    lane->execution.stack.forget();
    return lane;
}

void Lanes::retire(Lane& lane) {
    running_.remove(lane);
}

void Lanes::release(Lane& lane) {
    idle_.push_back(&lane);
}

namespace {

// A task that writes more than its pipe holds (64 KiB) waits for this once. With 1 ms, the loop was woken for
// most tasks of 0.7 ms on busy cores, which cost 1 % of their rate.
constexpr Duration unwatched_time = std::chrono::milliseconds(4);

}  // namespace

void OutputWatch::ended(Lane& lane) {
    if (!std::exchange(lane.watched, false)) --unwatched_;
}

Instant OutputWatch::next(Instant now) const {
    return owed() ? now + unwatched_time : Instant::max();
}

bool OutputWatch::due(const Lane& lane, Instant now) {
    return !lane.watched && now - lane.started >= unwatched_time;
}

void OutputWatch::watch(Lane& lane) {
    lane.watched = true;
    --unwatched_;
    watch_stream(lane.out, process::PollSource::lane_out, lane.index);
    watch_stream(lane.err, process::PollSource::lane_err, lane.index);
}

void OutputWatch::watch_stream(process::Capture& capture, process::PollSource source, std::size_t number) {
    if (std::exchange(capture.in_poller, true))
        poller_.change(capture.read_end(), source, EPOLLIN | EPOLLONESHOT, number);
    else
        poller_.add(capture.read_end(), source, EPOLLIN | EPOLLONESHOT, number);
}

void OutputWatch::drain(process::Capture& capture, process::PollSource source, std::size_t number) {
    // A closed stream would always be ready, so it is not watched again.
    if (capture.drain() != process::Capture::State::closed) watch_stream(capture, source, number);
}

}  // namespace wq::node::launcher
