#include "worker/worker_session.h"

#include <algorithm>

#include "base/time.h"
#include "base/units.h"
#include "net/session/session_table.h"

namespace wq::worker {

namespace {

// The local time after `time`, with the day if it is another day.
std::string clock_after(Duration time) {
    const bool soon = time < std::chrono::hours(12);
    return local_time(wall_now() + time / std::chrono::microseconds(1), soon ? "%H:%M" : "%Y-%m-%d %H:%M");
}

// The time of the manager's last bytes is updated each second.
constexpr Duration still_fresh = std::chrono::seconds(2);
constexpr Duration longest_look = std::chrono::seconds(15);
constexpr Duration look_again = std::chrono::milliseconds(250);
constexpr int most_calls_at_once = 10;  // anyone may announce thousands of managers that are not there

}  // namespace

WorkerSession::WorkerSession(WorkerSessionOptions options, Worker& worker,
                             std::function<Result<Call>(Whom)> call,
                             std::function<void(const std::string&)> say, Instant now)
    : options_(std::move(options)),
      worker_(worker),
      make_call_(std::move(call)),
      say_(std::move(say)),
      backoff_(options_.min_backoff, options_.max_backoff, options_.seed),
      state_until_(now),
      alone_since_(now),
      idle_since_(now) {}

void WorkerSession::end(ExitCode code) {
    if (!end_) end_ = code;
}

// ---- links ----

void WorkerSession::begin_call(Instant now) {
    auto call = make_call_(whom_);
    if (!call) {
        last_failure_ = call.error().message;
        if (call.error().code == ExitCode::ok) {
            say_(last_failure_);
            return end(served_ || disconnected_since_ ? ExitCode::ok : ExitCode::unreachable);
        }
        // A file that was read before is out of reach for a while, or is being replaced.
        if (call.error().code != ExitCode::unreachable && !disconnected_since_) {
            say_(last_failure_);
            return end(call.error().code);
        }
        print_not_reached();
        constexpr bool others_left = false;
        call_next(others_left, now);
        state_until_ = std::min(state_until_, now + longest_look);  // a file costs little
        return;
    }
    call_ = std::move(*call);
    state_ = State::calling;
}

void WorkerSession::joined(const net::frames::Joined& arrival, Instant now) {
    const std::string local = call_->local_address();
    const std::string name = call_->name();
    say_("connected to manager " + (name.empty() ? name : line_for_message(name) + ", ") +
         (arrival.address.empty() ? call_->address : arrival.address) +
         (local.empty() ? "" : " via local address " + local));
    printed_not_reached_ = false;
    state_ = State::greeting;
    state_until_ = now + options_.welcome_limit;
    worker_.connect(*call_->transport, call_->manager, local, now);
}

void WorkerSession::link_lost(const std::string& why, Instant now) {
    last_failure_ = why;
    if (state_ == State::calling) {
        // While we reconnect, a single refusal may be by a manager that was just started again, and has not
        // replaced its contact file yet.
        const bool refused = call_->not_allowed();
        const bool again = std::exchange(refused_reconnecting_, refused && disconnected_since_);
        if (refused && (again || !disconnected_since_)) {
            say_(why);
            end(ExitCode::not_allowed);
        }
        print_not_reached();
        const bool others_left = call_->others_left();
        hang_up(now);
        call_next(others_left, now);
    } else {
        hang_up(now);
        refused_reconnecting_ = false;
        say_("disconnected from manager: " + why + "; " + what_is_kept(now) + "reconnecting");
        call_later(now);
    }
}

// A worker without tasks gains nothing by waiting for its manager: each second call is to another one of the
// name, which may be its successor. Whoever answers gets our session: ours goes on with it, another forgets
// it.
void WorkerSession::call_next(bool others_left, Instant now) {
    if (others_left && ++calls_at_once_ < most_calls_at_once) {
        whom_ = Whom::next;
        state_until_ = now;
        return;
    }
    const bool seeks = options_.by_name && !options_.single_shot && worker_.idle() && whom_ == Whom::ours;
    whom_ = disconnected_since_ && !seeks ? Whom::ours : Whom::any;
    if (disconnected_since_ && seeks && !std::exchange(printed_not_reached_, true))
        say_("cannot reach the manager; also looking for another one by its name");
    call_later(now);
}

std::string WorkerSession::what_is_kept(Instant now) const {
    if (!disconnected_since_ || worker_.holding() == 0) return {};
    const auto left = std::max(*disconnected_since_ + worker_.link().grace() - now, Duration{0});
    const std::size_t tasks = worker_.holding();
    return "keeping its " + (tasks == 1 ? "task" : std::to_string(tasks) + " tasks") + " for up to " +
           format_duration(std::chrono::duration_cast<std::chrono::seconds>(left)) + ", ";
}

// Printed once per outage, so that a user who gave a wrong address sees it now and not only at the connect
// timeout.
void WorkerSession::print_not_reached() {
    if (end_ || disconnected_since_ || std::exchange(printed_not_reached_, true)) return;
    say_("no manager reached yet; retrying for " + format_duration(options_.connect_timeout) + ":\n" +
         last_failure_);
}

void WorkerSession::lose_link(const std::string& why, Instant now) {
    if (call_ && !end_) link_lost(why, now);
}

void WorkerSession::hang_up(Instant now) {
    if (state_ == State::serving || (state_ == State::greeting && worker_.link().welcomed())) {
        alone_since_ = now;
        backoff_.reset();
        if (worker_.link().has_manager()) disconnected_since_ = call_->heard(now).at;
        whom_ = disconnected_since_ ? Whom::ours : Whom::any;
    }
    worker_.disconnect();
    if (call_) call_->transport->close(call_->manager);
    call_.reset();
    state_ = State::waiting;
}

void WorkerSession::call_later(Instant now) {
    state_until_ = now + backoff_.next();
    calls_at_once_ = 0;
}

void WorkerSession::pass_notes() {
    if (!options_.note) return;
    for (const net::frames::Note& note : call_->transport->take_notes()) options_.note(note);
}

// A silent link is given up while there is time to reconnect. Without a grace period no reconnect is
// possible, and the transport's own timeout is enough.
void WorkerSession::check_silence(Instant now) {
    silent_from_.reset();
    if (state_ != State::serving || worker_.link().grace() <= Duration{0}) return;
    const net::frames::Heard heard = call_->heard(now);
    const Duration silence = net::session::silence_of(worker_.link().grace());
    silent_from_ = std::min(heard.at + silence, now + silence / 2);
    if (now < heard.at + silence) return;
    // If this process itself was stopped, it finds the bytes that came meanwhile at its next check.
    if (now - heard.as_of > still_fresh)
        silent_from_ = now + look_again;
    else
        link_lost("it was silent for " + format_duration(silence), now);
}

bool WorkerSession::move_frames(Instant now) {
    if (!call_) return false;
    std::vector<net::frames::Arrival> inbox;
    const bool moved = call_->transport->poll(inbox);
    pass_notes();
    for (const net::frames::Arrival& arrival : inbox) {
        if (!call_) break;
        if (const auto* joins = std::get_if<net::frames::Joined>(&arrival)) joined(*joins, now);
        if (const auto* frame = std::get_if<net::frames::Frame>(&arrival)) {
            worker_.on_frame(frame->bytes, now);
            heard_close_by_ = heard_close_by_ || (frame->close_by && worker_.runs_one_call());
        }
        if (const auto* left = std::get_if<net::frames::Left>(&arrival)) {
            // The manager's last message may precede it.
            if (!worker_.link().refused() && !worker_.link().dismissed()) link_lost(left->why, now);
        }
    }
    return moved;
}

// ---- what the manager says ----

void WorkerSession::manager_said_no(Instant now) {
    last_failure_ = "the manager refused this worker: " + worker_.link().refused()->why;
    const bool others_may_be_it = call_ && call_->to_anyone();
    if (!others_may_be_it) say_(last_failure_);
    hang_up(now);
    if (!others_may_be_it) return end(ExitCode::not_allowed);
    disconnected_since_.reset();
    whom_ = Whom::any;
    if (!worker_.forget_manager()) return end(ExitCode::unreachable);
    print_not_reached();
    call_later(now);
}

void WorkerSession::manager_is_done(Instant now) {
    const net::messages::Dismiss last = *worker_.link().dismissed();
    say_("disconnected from manager: " + last.why);
    served_ = true;
    hang_up(now);
    disconnected_since_.reset();
    whom_ = Whom::any;
    if (!worker_.forget_manager()) return end(ExitCode::unreachable);
    dismissed_ = last.for_good || options_.single_shot;
    if (dismissed_ || draining_) return end(ExitCode::ok);
    say_("looking for another manager until " + clock_after(options_.connect_timeout) +
         " (--connect-timeout " + format_duration(options_.connect_timeout) +
         "; with --single-shot the worker ends instead)");
    call_later(now);
}

void WorkerSession::give_manager_up(const std::string& why, Instant now) {
    if (worker_.holding() > 0) say_(why + ": its tasks are killed");
    if (state_ == State::greeting) hang_up(now);  // our Hello named the tasks that we give up now
    printed_not_reached_ = false;
    whom_ = Whom::any;
    if (state_ == State::waiting) {
        backoff_.reset();
        call_later(now);
    }
    disconnected_since_.reset();
    served_ = false;
    if (!worker_.forget_manager()) return end(ExitCode::unreachable);
    idle_since_ = now;
    if (options_.single_shot || draining_) end(draining_ ? ExitCode::ok : ExitCode::unreachable);
}

// ---- leaving ----

void WorkerSession::drain(std::optional<Duration> grace, Instant now, Worker::Because why) {
    if (grace) kill_at_ = std::min(kill_at_.value_or(now + *grace), now + *grace);
    if (std::exchange(draining_, true)) return;
    worker_.drain(why);
    worker_.on_launcher(now);  // returns tasks that have not started at once
}

void WorkerSession::stop(int signal, Instant now) {
    worker_.note_stop(signal);
    const bool again = std::exchange(stopped_, true);
    const Duration grace = again ? Duration{0} : options_.drain_grace;
    say_("stopping at " + engine::model::signal_name(signal) + ": " +
         (grace > Duration{0}
              ? "running tasks may finish for " + format_duration(grace) + "; a second signal kills them"
              : "running tasks are killed"));
    drain(grace, now);
}

void WorkerSession::leave(const std::string& why, Instant now) {
    say_(why);
    drain(std::nullopt, now);
}

void WorkerSession::check_times(Instant now) {
    if (options_.drain_at && now >= *options_.drain_at) {
        options_.drain_at.reset();
        say_("its time limit is near: running tasks may finish for " +
             format_duration(options_.drain_at_grace));
        drain(options_.drain_at_grace, now);
    }
    if (disconnected_since_ && now >= *disconnected_since_ + worker_.link().grace())
        give_manager_up("the manager was not reached within " + format_duration(worker_.link().grace()), now);
    if (draining_ && kill_at_ && now >= *kill_at_) {
        kill_at_.reset();
        leave_at_ = now + options_.last_words;
        worker_.kill_all();
    }
    if (draining_ && worker_.holding() == 0 && !leave_at_) leave_at_ = now + options_.last_words;
    if (draining_ && !end_ && (worker_.ended() || (leave_at_ && now >= *leave_at_))) return end(ExitCode::ok);
    if (draining_ && !worker_.link().expected()) return end(ExitCode::ok);
    if (!worker_.idle()) idle_since_ = now;
    const bool has_manager = state_ == State::serving || disconnected_since_;
    if (has_manager && !draining_ && now >= idle_since_ + options_.idle_timeout) {
        say_("no task arrived for " + format_duration(options_.idle_timeout));
        drain(Duration{0}, now, Worker::Because::idle);
    }
    if (!has_manager && !draining_ && now >= alone_since_ + options_.connect_timeout) {
        say_("no manager was reached within " + format_duration(options_.connect_timeout) +
             (last_failure_.empty() ? "" : "; the last attempt:\n" + last_failure_));
        end(served_ ? ExitCode::ok : ExitCode::unreachable);
    }
}

// ---- the loop's side ----

void WorkerSession::run_turn(Instant now) {
    if (end_) return;
    // Ends before a pending call reaches a manager, which would lease it tasks.
    if (draining_ && !worker_.link().expected()) return end(ExitCode::ok);
    const bool had_nothing = worker_.idle();
    move_frames(now);
    worker_.on_launcher(now);
    if (worker_.link().refused()) return manager_said_no(now);
    if (worker_.link().dismissed()) return manager_is_done(now);
    if (worker_.link().malformed()) link_lost("it sent bytes that are not a message", now);
    if (worker_.take_forgotten() && !had_nothing)
        say_("the manager no longer knows this worker: its tasks are killed");
    if (state_ == State::greeting && worker_.link().welcomed()) {
        state_ = State::serving;
        call_->welcomed();
        disconnected_since_.reset();
        backoff_.reset();
        idle_since_ = now;
    }
    check_silence(now);
    if (state_ == State::greeting && now >= state_until_)
        link_lost("the manager was silent for " + format_duration(options_.welcome_limit), now);
    if (!end_) check_times(now);
    if (!end_ && worker_.ended()) {
        if (!draining_) say_(worker_.why_leaving());
        end(worker_.broken() ? ExitCode::unreachable : ExitCode::ok);
    }
    if (!end_ && state_ == State::waiting && now >= state_until_) begin_call(now);
}

std::optional<Instant> WorkerSession::wakeup() const {
    std::optional<Instant> next = worker_.wakeup();
    if (state_ == State::waiting || state_ == State::greeting) earliest(next, state_until_);
    earliest(next, options_.drain_at);
    if (disconnected_since_) earliest(next, *disconnected_since_ + worker_.link().grace());
    if (state_ == State::serving) earliest(next, silent_from_);
    earliest(next, kill_at_);
    earliest(next, leave_at_);
    const bool has_manager = state_ == State::serving || disconnected_since_;
    if (!draining_ && has_manager && worker_.idle()) earliest(next, idle_since_ + options_.idle_timeout);
    if (!draining_ && !has_manager) earliest(next, alone_since_ + options_.connect_timeout);
    return next;
}

Instant WorkerSession::keeps_tasks_until(Instant now) const {
    const Duration grace = worker_.link().grace();
    if (disconnected_since_) return *disconnected_since_ + grace;
    return state_ == State::serving && grace > Duration{0} ? call_->heard(now).at + grace : Instant::max();
}

void WorkerSession::expect_until(Instant until) {
    if (call_) call_->transport->expect_until(until);
}

std::vector<int> WorkerSession::descriptors() const {
    return call_ ? call_->transport->descriptors() : std::vector<int>{};
}

}  // namespace wq::worker
