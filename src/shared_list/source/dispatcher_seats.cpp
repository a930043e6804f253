// The dispatcher's seats: who joins, leaves, and goes from list to list.
#include <algorithm>
#include <utility>

#include "engine/tasklist/sources.h"
#include "shared_list/source/dispatcher.h"
#include "shared_list/source/probe.h"

namespace wq::shared_list::source {

namespace {

constexpr int most_idle_moves = 2;

}  // namespace

void Dispatcher::take(const SeatJoined& event, Turn&) {
    Seat seat(options_.lease);
    seat.name = event.name;
    seat.jobs = std::max(1U, event.jobs);
    seat.list = store::name_of(options_.place);
    list_at(options_.place);
    seats_.insert_or_assign(event.seat, std::move(seat));
    ++seats_joined_;
}

void Dispatcher::take(const SeatLeft& event, Turn& turn) {
    const auto found = seats_.find(event.seat);
    if (found == seats_.end()) return;
    Seat& seat = found->second;
    if (seat.probe) turn.orders.emplace_back(Forget{*seat.probe});
    for (const auto& [ticket, line] : seat.running) turn.orders.emplace_back(Forget{ticket});
    leave(seat);
    seats_.erase(found);
}

void Dispatcher::take(const LineEnded& event, Turn&) {
    for (auto& [number, seat] : seats_) {
        if (seat.probe == event.ticket) {
            seat.probe.reset();
            take_probe(seat, event);
            return;
        }
        const auto line = seat.running.find(event.ticket);
        if (line == seat.running.end()) continue;
        const auto& [at, begun, command] = line->second;
        seat.taker->add_end({at, seat.id, begun, {}, event.end, event.exit_code, command});
        seat.running.erase(line);
        return;
    }
}

void Dispatcher::take_probe(Seat& seat, const LineEnded& event) {
    const auto set =
        event.end == text::TryEnd::ok
            ? answer_of(event.output)
            : Error{ExitCode::bad_input, "its shell does not tell what its last `#!` line has set"};
    auto jump = set ? jump_of(*set, seat.id, lists_.at(seat.list).place()) : set.error();
    if (!jump)
        return options_.say("worker " + std::to_string(seat.id) + " stays in " + seat.list + ": " +
                            jump.error().message);
    seat.jump = std::move(*jump);
}

// What it runs is lost.
void Dispatcher::leave(Seat& seat) {
    if (!seat.taker) return;
    lists_.at(seat.list).add_left(seat.id, std::move(seat.taker));
    seat.running.clear();
    seat.lease = replica::Lease(options_.lease);
    moved_ = true;
}

void Dispatcher::retire(Seat& seat, const Error& error) {
    seat.retired = true;
    options_.say("a worker (" + seat.name + ") leaves: " + error.message);
}

void Dispatcher::move(Seat& seat) {
    const replica::Jump jump = *std::exchange(seat.jump, std::nullopt);
    seat.place = jump.same_list ? lists_.at(seat.list).shared().place(seat.id) : 0;
    leave(seat);
    seat.wanted = jump.id;
    seat.list = store::name_of(jump.place);
    list_at(jump.place);
    // Lists that lead to each other, and have no lines to run, are looked at once in a while.
    seat.idle_moves = std::exchange(seat.ran_here, false) ? 0 : seat.idle_moves + 1;
    if (seat.idle_moves > most_idle_moves) seat.join_at = instant_now() + options_.poll;
}

Status Dispatcher::join(WorkerId number, Seat& seat, RunList& list, Turn& turn) {
    // The id may be that of one that has just left.
    if (auto recorded = list.record_left(); !recorded) return recorded;
    if (seat.wanted) {
        const auto is_free = list.refuse_taken_id(*seat.wanted);
        if (!is_free && is_free.error().code == ExitCode::usage)
            return retire(seat, is_free.error()), success();
        if (!is_free) return is_free;
    }
    const auto joined = list.shared().join(seat.name, seat.wanted);
    if (!joined) return joined.error();
    seat.id = *joined;
    seat.taker = std::make_unique<replica::LineTaker>(list.shared(), *joined);
    list.shared().move_to(seat.place, *joined);
    turn.orders.emplace_back(
        RunEnvironment{number, "export WORKERID=" + std::to_string(*joined) +
                                   " TASKFILE=" + engine::tasklist::shell_quote(list.place().file)});
    return success();
}

Status Dispatcher::beat(WorkerId number, Seat& seat, RunList& list, Turn& turn) {
    const Instant now = instant_now();  // before the call: the sign is not older
    if (seat.lease.last() && now < seat.lease.next()) return success();
    if (seat.lease.has_lapsed())
        give_up_lines(
            seat, [](const Line&) { return true; }, turn);
    if (auto beaten = list.beat(seat.id, options_.lease); !beaten) return beaten;
    seat.lease.given(now);
    if (options_.beaten) options_.beaten(number, now);
    return success();
}

// The store gave them while it waited for the lock.
void Dispatcher::note_signs(const std::string& list, Instant given) {
    for (auto& [number, seat] : seats_) {
        if (seat.list != list || !seat.lease.last()) continue;
        seat.lease.given(given);
        if (options_.beaten) options_.beaten(number, given);
    }
}

}  // namespace wq::shared_list::source
