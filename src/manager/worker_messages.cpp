#include "manager/worker_messages.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "engine/model/outcome.h"
#include "manager/status_answers.h"

namespace wq::manager {

namespace {

std::array<records::recorder::LargeText, 2> mapped(const std::array<Descriptor, 2>& files) {
    std::array<records::recorder::LargeText, 2> texts;
    for (std::size_t n = 0; n < files.size(); ++n) {
        auto text = files[n].valid() ? records::journal::MappedFile::of(files[n].get()) : Error{};
        if (text) texts[n] = std::make_shared<const records::journal::MappedFile>(std::move(*text));
    }
    return texts;
}

// From the clock of the worker to ours.
void turn_back_clock(engine::model::Outcome& outcome, std::int64_t ahead_us) {
    for (WallMicros* time :
         {&outcome.started_us, &outcome.files.inputs_there_us, &outcome.files.outputs_there_us})
        if (*time != 0) *time = std::max<WallMicros>(*time - ahead_us, 0);
}

}  // namespace

WorkerMessages::Heard WorkerMessages::on_frame(Link& link, const std::string& bytes, std::size_t& at,
                                               std::size_t& share, engine::model::Now now) {
    const LinkKey key = link.key;
    if (link.asks_plainly) {
        at = bytes.size();
        --share;
        to_.answers.ask_plainly(link, bytes);
        return Heard::status;
    }
    if (link.record) {
        router_.react(engine::model::WorkerHeard{link.record->worker}, now);
        // The worker may have been dismissed by this, and then its frame no longer counts.
        if (to_.links.find(key) == nullptr) return Heard::status;
    }
    auto messages = net::messages::decode(bytes, at, share);
    if (!messages) {
        to_.sessions.refuse(link, "it sent bytes that are not a message", now);
        return Heard::status;
    }
    share -= messages->size();
    if (link.session != nullptr) link.session->confirmed = true;
    Heard heard = Heard::beat;
    for (net::messages::Message& message : *messages) {
        if (std::holds_alternative<net::messages::Ended>(message) ||
            std::holds_alternative<net::messages::RangeEnded>(message))
            heard = Heard::results;
        else if (heard == Heard::beat && !std::holds_alternative<net::messages::Beat>(message))
            heard = Heard::status;
        std::visit([&](auto& known) { on(link, known, now); }, message);
        if (to_.links.find(key) == nullptr) return std::max(heard, Heard::status);
    }
    return heard;
}

AttemptOutput* WorkerMessages::output_of(TaskId task, Attempt attempt) {
    return output_ != nullptr && output_of_ == files::transfers::LeaseKey{task, attempt}
               ? std::exchange(output_, nullptr)
               : nullptr;
}

// ---- workers ----

void WorkerMessages::on(Link& link, net::messages::Hello& message, engine::model::Now now) {
    to_.sessions.hello(link, message, now);
}

void WorkerMessages::on(Link& link, const net::messages::Goodbye& message, engine::model::Now now) {
    if (to_.sessions.out_of_turn(link, now)) return;
    if (message.idle) ++idled_out_;
    to_.sessions.drop(
        link.key, line_for_message(message.why),
        message.idle ? records::journal::Departure::idle_out : records::journal::Departure::asked, now);
}

void WorkerMessages::on(Link& link, const net::messages::Draining&, engine::model::Now now) {
    if (to_.sessions.out_of_turn(link, now)) return;
    to_.release.leaves(link.record->worker);
    router_.react(engine::model::WorkerDraining{link.record->worker}, now);
}

void WorkerMessages::on(Link& link, const net::messages::EnvironmentReport& message, engine::model::Now) {
    const std::string* const told = to_.environment.text(message.position);
    if (!link.record || told == nullptr) return;
    const std::string line = *told + " #!";
    const std::string text = line_for_message(last_lines(message.text, 1));
    router_.print_line("worker " + std::to_string(link.record->worker.value()) + " on " + link.record->host +
                       ": `" + line + "` ended with " + std::to_string(message.exit_code) +
                       (text.empty() ? "" : ": " + text));
    if (message.exit_code != 0) to_.records.failures().add_environment({line, message.exit_code, text});
}

void WorkerMessages::on(Link&, const net::messages::Beat&, engine::model::Now) {}

void WorkerMessages::on(Link& link, const net::messages::Keeps&, engine::model::Now now) {
    if (!to_.sessions.out_of_turn(link, now) && link.session != nullptr) link.session->keeps = true;
}

void WorkerMessages::on(Link& link, const net::messages::StatusQuery& message, engine::model::Now now) {
    if (!to_.sessions.may_ask(link, message, now)) return;
    if (message.what != net::messages::StatusOf::shapes && to_.answers.lists())
        return to_.answers.ask(link, message);
    if (message.what == net::messages::StatusOf::shapes)
        to_.links.close(link, status(now));
    else
        to_.links.close(link, net::messages::Refused{net::messages::protocol_version,
                                                     "its owner switched its status off"});
    to_.links.remove(link.key);
}

const net::messages::StatusReport& WorkerMessages::status(engine::model::Now now) {
    // Whoever asks all the time does not stop the run.
    constexpr Duration fresh = std::chrono::seconds(1);
    if (!status_ || now.instant - status_at_ >= fresh) {
        status_ = status_report(router_, to_.records.categories(), to_.sessions);
        if (started_us_ > 0) status_->elapsed_us = now.wall - started_us_;
        if (rate_ >= 0) status_->ended_in_1000_s = static_cast<std::int64_t>(rate_ * 1000);
        status_at_ = now.instant;
    }
    return *status_;
}

// ---- tasks ----

void WorkerMessages::on(Link& link, net::messages::Ended& message, engine::model::Now now) {
    if (to_.sessions.out_of_turn(link, now)) return;
    to_.sessions.count_answer(link);
    net::session::make_plausible(message.outcome);
    engine::model::cut_again(to_.records.output_limit(), message.output, message.outcome);
    const WorkerId worker = link.record->worker;
    AttemptOutput output;
    if (files::transfers::FileTransfers* const transfers = to_.leases.transfers()) {
        output.large = mapped(transfers->take_streams(worker, message.task, message.attempt));
        transfers->drop_if_of(worker, message.task, message.attempt);
    }
    if (link.session != nullptr) turn_back_clock(message.outcome, link.session->clock_ahead_us);
    output_ = &output;
    output_of_ = {message.task, message.attempt};
    call_ended_ = call_ended_ || !message.output.result.empty();  // commands have no result
    bytes_received_ += static_cast<std::int64_t>(message.output.out.size() + message.output.err.size() +
                                                 message.output.result.size());
    output.text = std::move(message.output);
    router_.react(
        engine::model::TaskReported{worker, message.task, message.attempt, std::move(message.outcome)}, now);
    output_ = nullptr;
}

void WorkerMessages::on(Link& link, const net::messages::RangeEnded& message, engine::model::Now now) {
    if (to_.sessions.out_of_turn(link, now)) return;
    to_.sessions.count_answer(link);
    engine::model::Outcome times;
    times.started_us = message.started_us;
    times.wall_us = message.wall_us;
    net::session::make_plausible(times);
    router_.react(engine::model::RangeReported{link.record->worker, message.batch, message.done,
                                               times.started_us, times.wall_us},
                  now);
}

void WorkerMessages::on(Link& link, const net::messages::GivenBack& message, engine::model::Now now) {
    if (to_.sessions.out_of_turn(link, now)) return;
    to_.sessions.count_answer(link);
    router_.react(engine::model::TaskGivenBack{link.record->worker, message.task, message.attempt}, now);
}

// ---- tickets ----

void WorkerMessages::on(Link& link, const net::messages::Account& message, engine::model::Now now) {
    if (link.takes_tickets && link.record)
        router_.react(engine::model::TicketsReported{link.record->worker, message.batch, message.holding,
                                                     message.saw_dry},
                      now);
}

void WorkerMessages::on(Link& link, const net::messages::WantTickets& message, engine::model::Now) {
    if (link.takes_tickets && link.record)
        to_.links.send_message(link, to_.tickets.next(message.batch, link.record->host));
}

void WorkerMessages::on(Link& link, const net::messages::WantTexts& message, engine::model::Now) {
    if (link.takes_tickets) to_.links.send_message(link, to_.tickets.texts(message));
}

// ---- files ----

void WorkerMessages::on(Link& link, const net::messages::SharesFiles&, engine::model::Now now) {
    if (!to_.sessions.out_of_turn(link, now) && to_.files_may_be_shared)
        to_.leases.send_without_files(link, now);
}

void WorkerMessages::on(Link& link, const net::messages::SharesMemory&, engine::model::Now now) {
    if (!to_.sessions.out_of_turn(link, now)) link.shares_memory = true;
}

files::transfers::FileTransfers* WorkerMessages::transfers_of(Link& link, engine::model::Now now) {
    return to_.sessions.out_of_turn(link, now) ? nullptr : to_.leases.transfers();
}

void WorkerMessages::on(Link& link, const net::messages::WantInput& message, engine::model::Now now) {
    if (files::transfers::FileTransfers* const transfers = transfers_of(link, now))
        transfers->on(link.record->worker, message);
}

void WorkerMessages::on(Link& link, const net::messages::HaveInput& message, engine::model::Now now) {
    if (files::transfers::FileTransfers* const transfers = transfers_of(link, now))
        transfers->on(link.record->worker, message);
}

void WorkerMessages::on(Link& link, net::messages::OutputPart& message, engine::model::Now now) {
    files::transfers::FileTransfers* const transfers = transfers_of(link, now);
    if (transfers == nullptr) return;
    const WorkerId worker = link.record->worker;
    if (router_.reactor().holds(worker, message.task, message.attempt))
        transfers->expect_streams(worker, message.task, message.attempt, to_.records.output_limit());
    if (!transfers->on(worker, message))
        to_.sessions.refuse(link, "it sent more of a file than was requested", now);
}

void WorkerMessages::on(Link& link, net::messages::WatchedPart& message, engine::model::Now now) {
    files::transfers::FileTransfers* const transfers = transfers_of(link, now);
    if (transfers != nullptr && !transfers->on(link.record->worker, message))
        to_.sessions.refuse(link, "it sent a part of a file that was not requested", now);
}

void WorkerMessages::on(Link& link, const net::messages::OutputsSent& message, engine::model::Now now) {
    if (files::transfers::FileTransfers* const transfers = transfers_of(link, now))
        transfers->on(link.record->worker, message);
}

}  // namespace wq::manager
