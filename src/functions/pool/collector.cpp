#include "functions/pool/collector.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/signals.h"
#include "functions/pool/zygote.h"
#include "work_queue/job_executor.h"

namespace wq::functions::pool {

Collector::Collector(const JobLanes& lanes, int control, ResultQueue& results, ExecutorState& state)
    : lanes_(lanes), control_(control), results_(results), state_(state) {
    if (!doorbell_.valid()) throw SetupError(std::string("cannot make a descriptor: ") + strerror(errno), 69);
}

void Collector::start() {
    thread_ = quiet_thread([this] { collect(); });
}

void Collector::join() {
    if (thread_.joinable()) thread_.join();
}

void Collector::note_taken() {
    if (waits_for_room_.load() && results_.has_room_again() && waits_for_room_.exchange(false)) wake();
}

void Collector::collect() {
    unsigned busy_rounds = 0;
    for (;;) {
        const bool moved = gather();
        // While results come without end, too.
        if (moved && ++busy_rounds % 16 == 0 && !zygote_gone_) handle_reports();
        if (!moved || busy_rounds % 16 == 0) look_at_lanes();
        const ExecutorState::Asked asked = state_.asked();
        if (asked.aborts) {
            kill_lanes();
            results_.close();
        }
        if (asked.closes && close_lanes(*asked.closes)) return;
        if (!moved) wait();
    }
}

bool Collector::gather() {
    const std::lock_guard lock(gather_mutex_);
    return move_results();
}

// One of each lane in turn; not for long, as workers may have died.
bool Collector::move_results() {
    bool moved = false;
    constexpr int most_rounds = 64;
    bool any = true;
    for (int round = 0; any && round < most_rounds; ++round) {
        any = false;
        for (const auto& lane : lanes_) {
            if (!results_.has_room()) return moved;
            auto result = lane->next_result();
            if (!result) continue;
            any = moved = true;
            result->metadata.collected = std::chrono::steady_clock::now();
            results_.add(std::move(*result));
        }
    }
    return moved;
}

bool Collector::must_move() const {
    return results_.has_room() &&
           std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->must_be_moved(); });
}

void Collector::wait() {
    const bool has_room = results_.has_room();
    waits_for_room_.store(!has_room);
    if (!has_room && results_.has_room())
        return waits_for_room_.store(false);  // who made it has not seen us wait
    if (has_room)
        for (const auto& lane : lanes_) lane->set_collector_sleeps(true);
    // What came before that would ring no more.
    if (!must_move()) {
        const std::optional<Instant> until = wakes_at();
        std::array<pollfd, 2> ready{
            {{doorbell_.descriptor(), POLLIN, 0}, {zygote_gone_ ? -1 : control_, POLLIN, 0}}};
        poll(ready.data(), ready.size(), until ? poll_limit(*until) : -1);
        if (ready[0].revents != 0) doorbell_.clear();
        if (ready[1].revents != 0) handle_reports();
    }
    waits_for_room_.store(false);
    for (const auto& lane : lanes_) lane->set_collector_sleeps(false);
}

std::optional<Instant> Collector::wakes_at() const {
    std::optional<Instant> first;
    for (const auto& lane : lanes_)
        if (const auto at = lane->begins_at()) first = first ? std::min(*first, *at) : *at;
    if (const auto closes = state_.asked().closes) first = killed_ ? closes->close_at : closes->kill_at;
    return first;
}

void Collector::handle_reports() {
    for (;;) {
        ZygoteReport report;
        const ssize_t got = recv(control_, &report, sizeof report, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got != sizeof report) break;
        if (report.kind == ZygoteReport::Kind::zygote_lost) {
            lend_streams(control_);
            for (const auto& lane : lanes_) lane->lose_process();
        } else if (report.lane < lanes_.size()) {
            lanes_[report.lane]->on(report);
        }
    }
    zygote_gone_ = true;
    for (const auto& lane : lanes_) lane->lose("the processes that start workers were killed");
}

void Collector::look_at_lanes() {
    LanesSeen seen;
    seen.all = lanes_.size();
    bool waits = false;
    const Instant now = instant_now();
    for (const auto& lane : lanes_) {
        lane->begin_if_due(now);
        const JobLane::State state = lane->state();
        if (state == JobLane::State::up) ++seen.up;
        if (state == JobLane::State::gone && ++seen.gone == 1) seen.why_gone = lane->describe_end();
        waits = waits || lane->has_result();
    }
    if (state_.note_lanes(seen) == ExecutorState::Left::none && !waits) results_.close();
}

void Collector::kill_lanes() {
    if (killed_) return;
    killed_ = true;
    for (const auto& lane : lanes_) {
        lane->stop();
        lane->kill();
    }
}

// True: all is done that can be done.
bool Collector::close_lanes(ExecutorState::CloseTimes times) {
    if (!stopped_) {
        stopped_ = true;
        for (const auto& lane : lanes_) lane->stop();
    }
    const Instant now = instant_now();
    if (now >= times.kill_at) kill_lanes();
    return now >= times.close_at || zygote_gone_ || all_are_gone(lanes_);
}

}  // namespace wq::functions::pool
