// The calls of a coprocess.
#include <algorithm>
#include <exception>
#include <utility>

#include "functions/coprocess/coprocess.h"

namespace wq::functions::coprocess {

namespace {

// If the link ends without an answer, the process usually ends, too: then its status says why.
constexpr Duration end_limit = std::chrono::seconds(1);

}  // namespace

void Coprocess::call(RemoteOrder order, Instant now) {
    order_ = std::move(order);
    has_worked_ = true;
    link_lost_ = false;
    called_ = now;
    called_us_ = wall_now();
    try {
        begin_call(now);
    } catch (const std::exception& trouble) {  // no memory for a large event
        finish(engine::model::Ending::raised,
               std::string("the worker cannot send the call: ") + trouble.what(), now);
        become_idle();
    }
}

void Coprocess::begin_call(Instant now) {
    const auto refuse = [this](const std::string& why) {
        engine::model::Outcome outcome;
        engine::model::set_not_started(outcome, why);
        conclude(std::move(outcome), "");
        become_idle();
    };
    if (!is_function_name(order_->function))
        return refuse("a function's name has 1 to 200 bytes and no blank");
    const auto event = with_mode(order_->event, order_->mode);
    if (!event) return refuse(event.error().message);
    order_->event = {};
    if (const Status made = make_task_folder(folder_.path(), *order_); !made)
        return refuse(made.error().message);
    std::string text = greeting_.guarded ? secret_ + "\n" : "";
    text += call_line(order_->function, order_->task.value(), event->size());
    text += *event;
    if (const Status opened = link_.open(greeting_.port, std::move(text)); !opened)
        return refuse(opened.error().message);
    leftovers_.begin_call(host_, order_->mode);
    share_watch_->begin_call(order_->memory_mb, order_->sandbox);
    state_ = State::busy;
    until_.reset();
    if (order_->timeout > Duration{0}) until_ = now + order_->timeout;
    // Not later for each new call: short calls would never be looked at.
    next_look_ = std::min(next_look_.value_or(Instant::max()), now + look_while_busy);
    look_at_link(now);
}

void Coprocess::look_at_link(Instant now) {
    using Link = CallLink::State;
    const bool clears = state_ == State::clearing;
    if (link_.state() == Link::answered && !clears) {
        engine::model::Outcome outcome = outcome_at(now);
        std::string output;
        take_answer(link_.words(), link_.take_answer(), outcome, output);
        conclude(std::move(outcome), std::move(output));
        become_idle();
    } else if (link_.state() == Link::no_answer && !clears) {
        const std::string size = std::to_string(engine::model::most_output_limit >> 20) + " MB";
        const char* const what = "its coprocess sent no answer";
        fail(engine::model::Ending::raised, link_.too_long() ? "its result is larger than " + size : what,
             now);
    } else if (link_.state() == Link::closed && clears) {
        become_idle();
    } else if (link_.state() == Link::closed && !link_lost_) {
        link_lost_ = true;
        until_ = now + end_limit;
    }
}

engine::model::Outcome Coprocess::outcome_at(Instant now) const {
    engine::model::Outcome outcome;
    outcome.started_us = called_us_;
    outcome.wall_us = (now - called_) / std::chrono::microseconds(1);
    return outcome;
}

void Coprocess::finish(engine::model::Ending ending, const std::string& reason, Instant now) {
    engine::model::Outcome outcome = outcome_at(now);
    outcome.ending = ending;
    outcome.exit_code = ending == engine::model::Ending::raised ? 1 : 0;
    outcome.reason = reason;
    conclude(std::move(outcome), "");
}

// What will be reported. `output` "": the answer that a program expects is made from the outcome.
void Coprocess::conclude(engine::model::Outcome outcome, std::string output) {
    if (output.empty()) output = failure_text(engine::model::describe(outcome));
    outcome.stdout_bytes = output.size();
    concluded_ =
        node::launcher::TaskEnded{order_->task, order_->attempt, std::move(outcome), {std::move(output), {}}};
}

void Coprocess::become_idle() {
    leftovers_.end_call(host_, order_->mode);
    share_watch_->end_call();
    link_.close();
    until_.reset();
    state_ = State::tidying;
    tidy();
}

// A part of the folder in each turn: a function may leave millions of files.
void Coprocess::tidy() {
    if (!remove_task_folder(folder_.path(), *order_)) return;
    shorten_stderr(folder_.path(), options_.share.disk_mb);
    state_ = State::idle;
    give_report();
}

void Coprocess::give_report() {
    if (!order_) return;
    if (!std::exchange(is_dropped_, false)) ended_ = std::move(concluded_);
    concluded_.reset();
    order_.reset();
}

void Coprocess::fail(engine::model::Ending ending, const std::string& why, Instant now) {
    if (state_ == State::busy) finish(ending, why, now);
    end(why);
}

void Coprocess::end_call(engine::model::Ending ending, const std::string& reason, Instant now) {
    if (state_ != State::busy) return;
    finish(ending, reason, now);
    const bool kills_it_itself = greeting_.guarded && order_->mode == engine::model::CallMode::fork &&
                                 link_.state() == CallLink::State::open && link_.has_sent_all();
    if (!kills_it_itself) return end("its call was ended");
    link_.give_up();
    state_ = State::clearing;
    until_ = now + options_.kill_limit;
}

void Coprocess::drop_call(Instant now) {
    end_call(engine::model::Ending::killed, "", now);
    ended_.reset();
    is_dropped_ = order_.has_value();
}

std::optional<node::launcher::TaskEnded> Coprocess::take_ended() {
    return std::exchange(ended_, std::nullopt);
}

}  // namespace wq::functions::coprocess
