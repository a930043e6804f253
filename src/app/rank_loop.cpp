#include "app/rank_loop.h"

#include <csignal>

namespace wq::app {

namespace {

// Frames of the last turn leave within this time, or stay unsent: a lost rank never takes its own.
constexpr Duration goodbye_limit = std::chrono::milliseconds(300);

std::optional<Duration> until(std::optional<Instant> at, Instant from) {
    if (!at) return std::nullopt;
    return std::max<Duration>(*at - from, Duration{0});
}

void earliest(std::optional<Instant>& next, std::optional<Instant> other) {
    if (other && (!next || *other < *next)) next = other;
}

}  // namespace

core::Now now() { return {instant_now(), wall_now()}; }

Duration StopPolicy::grace_after(int signal) const {
    const bool passed_on_freely = signal == SIGUSR1 || signal == SIGUSR2;
    return killed_after_signal && !passed_on_freely ? Duration{0} : grace;
}

// ---- rank 0 -------------------------------------------------------------------------------------------------------

Status ManagerLoop::run() {
    turn_began_ = instant_now();
    if (worker != nullptr) worker->start(turn_began_);
    while (!manager.finished()) wait(turn());
    say_goodbye();
    if (source_error_) return *source_error_;
    return success();
}

bool ManagerLoop::turn() {
    bool moved = move_frames();
    if (!manager.reactor().stopping()) read_source();
    handle_signals();
    const core::Now at = now();
    if (deadline.drain_at && at.instant >= *deadline.drain_at) {
        deadline.drain_at.reset();
        manager.stop(core::StopReason::out_of_time, deadline.grace, at);
    }
    if (waiter_.readable(recorder.descriptor())) manager.on_recorder(at);
    manager.tick(at);
    if (worker != nullptr) {
        worker->on_launcher(at.instant);
        worker->tick(at.instant);
    }
    manager.flush();
    moved = move_frames() || moved;
    manager.flush();
    return moved;
}

bool ManagerLoop::move_frames() {
    bool moved = false;
    for (transport::Transport* transport : {ranks, own_end_of_manager}) {
        if (transport == nullptr) continue;
        inbox_.clear();
        moved = transport->poll(inbox_) || moved;
        for (const transport::Arrival& arrival : inbox_) manager.on_arrival(*transport, arrival, now());
    }
    if (own_end_of_worker == nullptr) return moved;
    inbox_.clear();
    moved = own_end_of_worker->poll(inbox_) || moved;
    for (const transport::Arrival& arrival : inbox_) {
        if (const auto* frame = std::get_if<transport::Frame>(&arrival)) worker->on_frame(frame->bytes, instant_now());
        if (const auto* left = std::get_if<transport::Left>(&arrival)) worker->on_manager_left(left->why);
    }
    return moved;
}

void ManagerLoop::read_source() {
    if (source.ended()) return;
    if (source.descriptor() >= 0 && !waiter_.readable(source.descriptor())) return;
    Status read = source.read(manager, now());
    if (read) return;
    source_error_ = read.error();
    manager.stop(core::StopReason::interrupted, stop.grace, now());
}

void ManagerLoop::handle_signals() {
    while (const auto signal = signals.next()) {
        manager.say(std::string("signal ") + std::to_string(*signal) + " (" + sigabbrev_np(*signal) + "): stopping; " +
                    (stop.grace_after(*signal) > Duration{0} ? "again to end at once" : "running tasks are killed"));
        manager.stop(core::StopReason::interrupted, stop.grace_after(*signal), now());
    }
}

void ManagerLoop::wait(bool moved) {
    const Instant before = instant_now();
    if (moved) back_off_.moved();
    std::optional<Instant> next = manager.wakeup();
    if (worker != nullptr) earliest(next, worker->wakeup());
    earliest(next, deadline.drain_at);
    earliest(next, each_turn(before));
    const bool more_to_read = !source.ended() && source.descriptor() < 0;
    if (more_to_read || (moved && own_end_of_worker != nullptr)) next = before;
    if (ranks != nullptr) earliest(next, before + back_off_.next());

    waiter_.clear();
    waiter_.watch(signals.descriptor());
    waiter_.watch(recorder.descriptor());
    if (launcher != nullptr) waiter_.watch(launcher->descriptor());
    if (!source.ended() && !manager.reactor().stopping()) waiter_.watch(source.descriptor());
    if (ranks != nullptr)
        for (const int descriptor : ranks->descriptors()) waiter_.watch(descriptor);
    waiter_.wait(until(next, before));
    const Instant after = instant_now();
    manager.count_time(after - before, before - turn_began_);
    turn_began_ = after;
}

void ManagerLoop::say_goodbye() {
    manager.dismiss_all("the run is over");
    const Instant limit = instant_now() + goodbye_limit;
    while (ranks != nullptr && !ranks->idle() && instant_now() < limit) {
        inbox_.clear();
        if (ranks->poll(inbox_)) back_off_.moved();
        waiter_.clear();
        waiter_.wait(back_off_.next());
    }
}

// ---- the other ranks ----------------------------------------------------------------------------------------------

void WorkerLoop::run() {
    worker.start(instant_now());
    while (!worker.ended()) {
        bool moved = false;
        inbox_.clear();
        moved = ranks.poll(inbox_);
        for (const transport::Arrival& arrival : inbox_) {
            const auto* frame = std::get_if<transport::Frame>(&arrival);
            if (frame != nullptr && frame->peer == manager) worker.on_frame(frame->bytes, instant_now());
            const auto* left = std::get_if<transport::Left>(&arrival);
            if (left != nullptr && left->peer == manager) worker.on_manager_left(left->why);
        }
        // The manager has the same signal and decides; but where the job is killed soon after, nothing waits for it.
        while (const auto signal = signals.next())
            if (stop.grace_after(*signal) == Duration{0}) {
                worker.drain();
                worker.kill_all();
            }
        worker.on_launcher(instant_now());
        worker.tick(instant_now());
        if (worker.ended()) break;
        if (moved) back_off_.moved();

        const Instant before = instant_now();
        std::optional<Instant> next = worker.wakeup();
        earliest(next, before + back_off_.next());
        waiter_.clear();
        waiter_.watch(signals.descriptor());
        waiter_.watch(launcher.descriptor());
        for (const int descriptor : ranks.descriptors()) waiter_.watch(descriptor);
        waiter_.wait(until(next, before));
        if (waiter_.readable(launcher.descriptor())) back_off_.moved();
    }
    // A Goodbye of ours is still on its way.
    const Instant limit = instant_now() + goodbye_limit;
    while (!ranks.idle() && instant_now() < limit) {
        inbox_.clear();
        ranks.poll(inbox_);
        waiter_.clear();
        waiter_.wait(back_off_.next());
    }
}

}  // namespace wq::app
