// The thread that moves results from the workers to the program, and hears how workers end.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "functions/pool/executor.h"

namespace wq::functions::pool {

void Executor::collect() {
    unsigned busy_rounds = 0;
    for (;;) {
        const bool moved = gather();
        // While results come without end, too.
        if (moved && ++busy_rounds % 16 == 0 && !zygote_gone_) hear();
        if (!moved || busy_rounds % 16 == 0) look_at_lanes();
        if (abort_.load()) {
            kill_lanes();
            results_.close();
        }
        if (close_lanes()) return;
        if (!moved) wait();
    }
}

// By the collector, and by whoever takes results, which spares both a wake-up.
bool Executor::gather() {
    if (is_copy()) return false;
    const std::lock_guard lock(gather_mutex_);
    return move_results();
}

// One of each lane in turn; not for long, as workers may have died.
bool Executor::move_results() {
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

bool Executor::must_move() const {
    return results_.has_room() &&
           std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->must_be_moved(); });
}

void Executor::wait() {
    const bool has_room = results_.has_room();
    waits_for_room_.store(!has_room);
    if (!has_room && results_.has_room())
        return waits_for_room_.store(false);  // who made it has not seen us wait
    if (has_room)
        for (const auto& lane : lanes_) lane->note_sleep(true);
    // What came before that would ring no more.
    if (!must_move()) {
        const std::optional<Instant> until = wakes_at();
        std::array<pollfd, 2> ready{
            {{doorbell_->descriptor(), POLLIN, 0}, {zygote_gone_ ? -1 : zygote_.control.get(), POLLIN, 0}}};
        poll(ready.data(), ready.size(), until ? poll_limit(*until) : -1);
        if (ready[0].revents != 0) doorbell_->clear();
        if (ready[1].revents != 0) hear();
    }
    waits_for_room_.store(false);
    for (const auto& lane : lanes_) lane->note_sleep(false);
}

std::optional<Instant> Executor::wakes_at() const {
    std::optional<Instant> first;
    for (const auto& lane : lanes_)
        if (const auto at = lane->begins_at()) first = first ? std::min(*first, *at) : *at;
    const std::lock_guard lock(state_mutex_);
    if (state_ == State::closing) first = killed_ ? close_at_ : kill_at_;
    return first;
}

void Executor::hear() {
    for (;;) {
        News news;
        const ssize_t got = recv(zygote_.control.get(), &news, sizeof news, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got != sizeof news) break;
        if (news.kind == News::Kind::zygote_lost) {
            lend_streams(zygote_.control.get());
            for (const auto& lane : lanes_) lane->lose_process();
        } else if (news.lane < lanes_.size()) {
            lanes_[news.lane]->hear(news);
        }
    }
    zygote_gone_ = true;
    for (const auto& lane : lanes_) lane->lose("the processes that start workers were killed");
}

void Executor::look_at_lanes() {
    std::size_t up = 0;
    std::size_t gone = 0;
    bool waits = false;
    std::string why_gone;
    const Instant now = instant_now();
    for (const auto& lane : lanes_) {
        lane->begin_if_due(now);
        const Lane::State state = lane->state();
        up += state == Lane::State::up;
        if (state == Lane::State::gone && ++gone == 1) why_gone = lane->describe_end();
        waits = waits || lane->has_result();
    }
    const std::lock_guard lock(state_mutex_);
    if (state_ == State::closing) return;
    if (!all_up_ && up == lanes_.size()) {
        all_up_ = true;
        state_changed_.notify_all();
    }
    if (gone > 0 && !all_up_ && why_not_up_.empty()) {
        why_not_up_ = why_gone;
        state_changed_.notify_all();
    }
    if (gone < lanes_.size()) return;
    if (why_none_.empty()) why_none_ = why_gone;
    if (!waits) results_.close();
}

void Executor::kill_lanes() {
    if (killed_) return;
    killed_ = true;
    for (const auto& lane : lanes_) {
        lane->stop();
        lane->kill();
    }
}

// True: all is done that can be done.
bool Executor::close_lanes() {
    Instant close_at;
    Instant kill_at;
    {
        const std::lock_guard lock(state_mutex_);
        if (state_ != State::closing) return false;
        close_at = close_at_;
        kill_at = kill_at_;
    }
    if (!stopped_) {
        stopped_ = true;
        for (const auto& lane : lanes_) lane->stop();
    }
    const Instant now = instant_now();
    if (now >= kill_at) kill_lanes();
    if (now >= close_at || zygote_gone_) return true;
    return std::all_of(lanes_.begin(), lanes_.end(),
                       [](const auto& lane) { return lane->state() == Lane::State::gone; });
}

}  // namespace wq::functions::pool
