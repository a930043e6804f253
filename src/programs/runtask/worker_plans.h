// What a worker has planned: when it looks for lines and tries a master again, where it goes, how it ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/replica/line_taker.h"

namespace wq::programs::runtask {

// When to look for lines to take. After a look that found none, there is nothing to take before the next
// look, unless a line ends or somebody changes the list.
class LookPlan {
  public:
    // Whether the next look was planned, and is due.
    bool is_due(Instant now) const { return next_ && next_->look_at <= now; }
    bool may_look(Instant now) const { return !next_ || is_due(now); }
    void look_at_once() { next_.reset(); }
    // `seen`: state of the list before the look, see ListStore.
    void begin_look(std::optional<std::string> seen) { seen_ = std::move(seen); }
    // `peek_at`: when to ask whether the list has changed, which is faster than a look.
    void plan(Instant look_at, Instant peek_at) { next_ = Next{look_at, peek_at}; }

    // Plans a look for now if the list has changed. `state`: as in begin_look(), called if a peek is due.
    template <class State>
    void peek(Instant now, Duration pause, State&& state) {
        if (!next_ || !next_->peek_at || *next_->peek_at > now) return;
        const std::optional<std::string> found = state();
        next_->peek_at = found ? std::optional(now + pause) : std::nullopt;
        if (found != seen_) next_->look_at = now;
    }

    // When a look or a peek is due.
    Instant next(Instant now) const {
        if (!next_) return now;
        return std::min(next_->look_at, next_->peek_at.value_or(next_->look_at));
    }

  private:
    struct Next {
        Instant look_at;
        std::optional<Instant> peek_at;  // none: the state of the list cannot be had
    };
    std::optional<Next> next_;  // none: look at once
    std::optional<std::string> seen_;
};

// The time in which the list's master cannot be reached.
class Outage {
  public:
    bool is_on() const { return retry_.has_value(); }
    bool may_try(Instant now) const { return !retry_ || now >= retry_->at; }
    Instant try_at() const { return retry_->at; }  // while it is on

    // A try has failed. The first retry comes at once, because most often the next connection holds.
    void note_failure(Instant now) {
        const Duration pause = retry_ ? std::clamp(retry_->pause * 2, least_pause, most_pause) : Duration{0};
        retry_ = Retry{pause, now + pause};
    }
    void end() { retry_.reset(); }

  private:
    static constexpr Duration least_pause = std::chrono::seconds(1);
    static constexpr Duration most_pause = std::chrono::seconds(30);

    struct Retry {
        Duration pause{0};
        Instant at{};
    };
    std::optional<Retry> retry_;
};

// The move to another list, or to another id in the same list.
class ListMove {
  public:
    bool is_planned() const { return jump_.has_value(); }
    void plan(shared_list::replica::Jump jump) { jump_ = std::move(jump); }
    shared_list::replica::Jump take() { return *std::exchange(jump_, std::nullopt); }

    void note_line() { ++lines_here_; }  // the worker runs one since it joined
    // The worker is about to join the list at `place`. Lists that lead to each other, and have no lines to
    // run, are looked at once in a while: the worker joins `later` then.
    void arrive(std::uint64_t place, Instant later) {
        place_ = place;
        idle_moves_ = lines_here_ == 0 ? idle_moves_ + 1 : 0;
        if (idle_moves_ > most_idle_moves) join_at_ = later;
        lines_here_ = 0;
    }
    std::uint64_t place() const { return place_; }
    Instant join_at() const { return join_at_; }  // not before

  private:
    static constexpr int most_idle_moves = 2;

    std::optional<shared_list::replica::Jump> jump_;
    std::uint64_t place_ = 0;
    std::uint64_t lines_here_ = 0;
    int idle_moves_ = 0;  // one after the other, without a line between
    Instant join_at_{};
};

// The end of a worker: the exit code with which the worker leaves, or the error that stops the worker.
class WorkerEnd {
  public:
    // It leaves when no line runs any more.
    void plan(int exit_code) {
        stage_ = Stage::planned;
        exit_code_ = exit_code;
    }
    bool is_planned() const { return stage_ != Stage::none; }
    void leave() { stage_ = Stage::left; }
    void fail(Error error) { error_ = std::move(error); }
    bool has_come() const { return stage_ == Stage::left || error_; }

    // What has ended is being recorded: signals do not prevent that.
    void begin_record() { records_ = true; }
    bool is_recording() const { return records_; }
    Result<int> result() const {
        if (error_) return *error_;
        return exit_code_;
    }

  private:
    enum class Stage { none, planned, left };
    Stage stage_ = Stage::none;
    int exit_code_ = 0;
    std::optional<Error> error_;
    bool records_ = false;
};

}  // namespace wq::programs::runtask
