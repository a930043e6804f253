#include "manager/run/rank_loop.h"

#include <sched.h>
#include <sys/prctl.h>

#include <csignal>

#include "base/units.h"
#include "net/messages/messages.h"

namespace wq::manager::run {

namespace {

constexpr std::uint64_t most_waiting_of_a_stream = 2'000'000;

// While so many tasks are ready, in all and for each core, reading the rest of a list takes one part in so
// many of the time: otherwise it would delay the dispatching of tasks for seconds.
constexpr std::uint64_t enough_ready = 10'000;
constexpr std::int64_t enough_ready_per_core = 64;
constexpr int part_for_reading = 16;

// Frames not sent within this time stay unsent: a lost rank never takes its frames.
constexpr Duration goodbye_limit = std::chrono::milliseconds(300);

std::optional<Duration> until(std::optional<Instant> at, Instant from) {
    if (!at) return std::nullopt;
    return std::max<Duration>(*at - from, Duration{0});
}

}  // namespace

engine::model::Now now() {
    return {instant_now(), wall_now()};
}

void let_frames_leave(net::frames::Transport& ranks) {
    std::vector<net::frames::Arrival> ignored;
    Waiter waiter;
    const Instant began = instant_now();
    BackOff back_off(began);
    for (Instant now = began; !ranks.idle() && now < began + goodbye_limit; now = instant_now()) {
        ignored.clear();
        if (ranks.poll(ignored)) back_off.moved(now);
        waiter.wait(back_off.pause(now));
    }
}

Duration StopPolicy::grace_after(int signal) const {
    const bool passed_on_freely = signal == SIGUSR1 || signal == SIGUSR2;
    return killed_after_signal && !passed_on_freely ? Duration{0} : grace;
}

// ---- rank 0 ----

Status ManagerLoop::run() {
    parts_.manager.clock = instant_now;
    turn_began_ = instant_now();
    back_off_ = BackOff(turn_began_);
    if (std::any_of(parts_.wires.begin(), parts_.wires.end(),
                    [](const net::frames::Transport* wire) { return wire->wants_asking(); }))
        wakes_on_time();
    if (parts_.own_worker != nullptr) parts_.own_worker->worker().start(turn_began_);
    while (!parts_.manager.over()) {
        const bool moved = run_turn();
        if (!parts_.manager.over()) wait(moved);
    }
    parts_.manager.end_samples(now());
    send_goodbyes();
    if (source_error_) return *source_error_;
    return success();
}

// One turn takes what the own worker's tasks have ended with, and gives it the orders that follow from that:
// each more turn, and each poll of MPI, would cost processor time that tasks on the same cores need.
bool ManagerLoop::run_turn() {
    OwnWorker* const own = parts_.own_worker;
    handle_signals();  // before the ends of tasks that got the same signal
    if (own != nullptr) {
        own->worker().on_launcher(instant_now());
        own->worker().tick(instant_now());
        listen_to(own->end_of_manager());  // what follows from it leaves in this turn
    }
    bool moved = listen_to_wires();
    read_source();
    const engine::model::Now at = now();
    if (parts_.deadline.drain_at && at.instant >= *parts_.deadline.drain_at) {
        parts_.deadline.drain_at.reset();
        parts_.manager.stop(engine::model::StopReason::out_of_time, parts_.deadline.grace, at);
    }
    if (waiter_.readable(parts_.recorder.descriptor())) parts_.manager.on_recorder(at);
    if (parts_.files_of_manager != nullptr && waiter_.readable(parts_.files_of_manager->descriptor()))
        parts_.manager.on_background(at);
    if (parts_.others != nullptr) parts_.others->finish();
    parts_.manager.tick(at);
    parts_.manager.flush();
    moved = listen_to_wires() || moved;
    if (own != nullptr) {
        hand_frames_to(*own);
        moved = listen_to(own->end_of_manager()) || moved;
    }
    parts_.manager.flush();
    return moved;
}

bool ManagerLoop::listen_to_wires() {
    bool moved = false;
    for (net::frames::Transport* wire : parts_.wires) moved = listen_to(*wire) || moved;
    return moved;
}

bool ManagerLoop::listen_to(net::frames::Transport& wire) {
    inbox_.clear();
    const bool something = wire.poll(inbox_);
    // With a thousand ranks a keepalive arrives every millisecond. It needs no reaction, so it must not
    // cause another poll at once.
    bool says_more = inbox_.empty();
    bool call_ended = false;
    for (const net::frames::Arrival& arrival : inbox_) {
        says_more = parts_.manager.on_arrival(wire, arrival, now()) || says_more;
        const auto* frame = std::get_if<net::frames::Frame>(&arrival);
        const bool of_call = parts_.manager.take_call_ended();
        call_ended = call_ended || (of_call && frame != nullptr && frame->close_by);
    }
    if (call_ended && few_under_way()) {
        back_off_.heard_close_by(instant_now());
        wire.expect_until(back_off_.yields_until());
    }
    return something && says_more;
}

void ManagerLoop::hand_frames_to(OwnWorker& own) {
    inbox_.clear();
    own.end_of_worker().poll(inbox_);
    for (const net::frames::Arrival& arrival : inbox_) {
        if (const auto* frame = std::get_if<net::frames::Frame>(&arrival))
            own.worker().on_frame(frame->bytes, instant_now());
        if (std::holds_alternative<net::frames::Left>(arrival)) own.worker().on_manager_left();
    }
}

// With few calls each one is waited for. With many the rate counts, which depends on messages gathering while
// this thread sleeps: when it yielded, calls of a range on 2 ranks were 4 to 15 times slower.
bool ManagerLoop::few_under_way() const {
    constexpr std::uint64_t few = 4;
    const engine::model::Ledger& ledger = parts_.manager.reactor().ledger();
    return ledger.count(engine::model::TaskState::leased) + ledger.count(engine::model::TaskState::sealed) +
               ledger.count(engine::model::TaskState::ready) <=
           few;
}

// An endless stream must not fill the memory, so it is read as fast as its tasks end.
bool ManagerLoop::wants_more(Instant at) const {
    if (!source_works()) return false;
    const engine::model::Ledger& ledger = parts_.manager.reactor().ledger();
    const std::uint64_t ready = ledger.count(engine::model::TaskState::ready);
    if (parts_.source.paced())
        return ready + ledger.count(engine::model::TaskState::blocked) < most_waiting_of_a_stream;
    const std::int64_t cores = parts_.manager.reactor().workers().total().cores.rounded_down();
    const auto for_cores = static_cast<std::uint64_t>(enough_ready_per_core * cores);
    return ready < std::max(enough_ready, for_cores) || at >= read_again_at_;
}

bool ManagerLoop::source_works() const {
    return !parts_.source.ended() &&
           (!parts_.manager.reactor().stopping() || parts_.source.works_while_stopping());
}

void ManagerLoop::read_source() {
    const Instant began = instant_now();
    if (!wants_more(began)) return;
    if (parts_.source.descriptor() >= 0 && !waiter_.readable(parts_.source.descriptor()) &&
        !parts_.source.has_more())
        return;
    const Status read = parts_.source.read(parts_.manager, now());
    const Instant ended = instant_now();
    read_again_at_ = ended + (part_for_reading - 1) * (ended - began);
    if (read) return;
    source_error_ = read.error();
    parts_.manager.stop(engine::model::StopReason::interrupted, parts_.stop.grace, now());
}

void ManagerLoop::handle_signals() {
    while (const auto signal = parts_.signals != nullptr ? parts_.signals->next() : std::nullopt) {
        const bool again = parts_.manager.reactor().stopping();
        const Duration grace = again ? Duration{0} : parts_.stop.grace_after(*signal);
        if (parts_.own_worker != nullptr) parts_.own_worker->worker().note_stop(*signal);
        parts_.manager.say("stopping at " + engine::model::signal_name(*signal) + ": " +
                           (grace > Duration{0} ? "running tasks may finish for " + format_duration(grace) +
                                                      "; a second signal kills them"
                                                : "running tasks are killed"));
        parts_.manager.stop(engine::model::StopReason::interrupted, grace, now());
    }
}

void ManagerLoop::wait(bool moved) {
    const Instant before = instant_now();
    std::optional<Instant> next = parts_.manager.wakeup();
    if (parts_.own_worker != nullptr) earliest(next, parts_.own_worker->worker().wakeup());
    earliest(next, parts_.source.wakeup());
    earliest(next, parts_.deadline.drain_at);
    earliest(next, parts_.each_turn(before));
    waiter_.clear();
    asks_ = false;
    for (const net::frames::Transport* wire : parts_.wires) {
        const std::vector<int> descriptors = wire->descriptors();
        for (const int descriptor : descriptors) waiter_.watch(descriptor);
        asks_ = asks_ || wire->wants_asking();
    }
    const bool more_to_read = source_works() && (parts_.source.descriptor() < 0 || parts_.source.has_more());
    const bool reads = wants_more(before);
    if (more_to_read && !reads) earliest(next, read_again_at_);
    if ((more_to_read && reads) || moved) next = before;
    if (moved) back_off_.moved(before);
    const bool yields = next != before && back_off_.yields(before);
    if (asks_) earliest(next, before + back_off_.pause(before));

    if (parts_.signals != nullptr) waiter_.watch(parts_.signals->descriptor());
    waiter_.watch(parts_.recorder.descriptor());
    if (OwnWorker* own = parts_.own_worker) {
        waiter_.watch(own->launcher().descriptor());
        if (own->functions() != nullptr) waiter_.watch(own->functions()->descriptor());
        if (own->files() != nullptr) waiter_.watch(own->files()->descriptor());
    }
    for (const Background* files : {parts_.files_of_manager, parts_.others})
        if (files != nullptr) waiter_.watch(files->descriptor());
    if (reads) waiter_.watch(parts_.source.descriptor());
    if (yields)
        waiter_.yield();
    else
        waiter_.wait(until(next, before));
    const Instant after = instant_now();
    parts_.manager.count_time(after - before, before - turn_began_);
    turn_began_ = after;
}

void ManagerLoop::send_goodbyes() {
    parts_.manager.dismiss_all("the run is over", now());
    for (net::frames::Transport* wire : parts_.wires) let_frames_leave(*wire);
}

// ---- the other ranks ----

void WorkerLoop::run() {
    wakes_on_time();
    back_off_ = BackOff(instant_now());
    parts_.worker.start(instant_now());
    while (!parts_.worker.ended()) {
        handle_signals();  // before the ends of tasks that got the same signal
        const bool moved = move_frames();
        parts_.worker.on_launcher(instant_now());
        parts_.worker.tick(instant_now());
        if (!parts_.worker.ended()) wait(moved);
    }
    let_frames_leave(parts_.ranks);  // a Goodbye
}

bool WorkerLoop::move_frames() {
    inbox_.clear();
    const bool moved = parts_.ranks.poll(inbox_);
    for (const net::frames::Arrival& arrival : inbox_) {
        const auto* frame = std::get_if<net::frames::Frame>(&arrival);
        if (frame != nullptr && frame->peer == parts_.manager) {
            const Instant now = instant_now();
            parts_.worker.on_frame(frame->bytes, now);
            if (frame->close_by && parts_.worker.runs_one_call()) back_off_.heard_close_by(now);
        }
        const auto* left = std::get_if<net::frames::Left>(&arrival);
        if (left != nullptr && left->peer == parts_.manager) parts_.worker.on_manager_left();
    }
    return moved;
}

void WorkerLoop::handle_signals() {
    // The manager gets the same signal and decides; but if the job is killed soon, do not wait for it.
    while (const auto signal = parts_.signals != nullptr ? parts_.signals->next() : std::nullopt) {
        parts_.worker.note_stop(*signal);
        if (parts_.stop.grace_after(*signal) > Duration{0}) continue;
        parts_.worker.drain();
        parts_.worker.kill_all();
    }
}

void WorkerLoop::wait(bool moved) {
    const Instant before = instant_now();
    if (moved) back_off_.moved(before);
    std::optional<Instant> next = parts_.worker.wakeup();
    const std::vector<int> descriptors = parts_.ranks.descriptors();
    if (parts_.ranks.wants_asking()) earliest(next, before + back_off_.pause(before));
    waiter_.clear();
    if (parts_.signals != nullptr) waiter_.watch(parts_.signals->descriptor());
    waiter_.watch(parts_.launcher.descriptor());
    if (parts_.functions != nullptr) waiter_.watch(parts_.functions->descriptor());
    if (parts_.files != nullptr) waiter_.watch(parts_.files->descriptor());
    for (const int descriptor : descriptors) waiter_.watch(descriptor);
    if (!moved && back_off_.yields(before))
        waiter_.yield();
    else
        waiter_.wait(until(next, before));
    // A task has ended: the answer with the next task comes soon, and after a call very soon.
    const bool called = parts_.functions != nullptr && waiter_.readable(parts_.functions->descriptor());
    if (called && parts_.worker.runs_one_call())
        back_off_.heard_close_by(instant_now());
    else if (called || waiter_.readable(parts_.launcher.descriptor()))
        back_off_.moved(instant_now());
}

void wakes_on_time() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
}

void Waiter::wait(std::optional<Duration> longest) {
    timespec limit{};
    if (longest) {
        const auto nanoseconds = std::max<Duration::rep>(longest->count(), 0);
        limit.tv_sec = nanoseconds / 1'000'000'000;
        limit.tv_nsec = nanoseconds % 1'000'000'000;
    }
    for (pollfd& entry : descriptors_) entry.revents = 0;
    // An interrupted wait counts as over: the caller checks everything anyway.
    if (::ppoll(descriptors_.data(), descriptors_.size(), longest ? &limit : nullptr, nullptr) < 0)
        for (pollfd& entry : descriptors_) entry.revents = 0;
}

void Waiter::yield() {
    ::sched_yield();
    wait(Duration{0});
}

void dismiss_ranks(net::frames::Transport& ranks, std::uint32_t count, const std::string& why) {
    const std::string frame = net::messages::encode(net::messages::Dismiss{why, false});
    for (std::uint32_t rank = 1; rank < count; ++rank) ranks.send(net::frames::PeerId(rank), frame);
    run::let_frames_leave(ranks);
}

}  // namespace wq::manager::run
