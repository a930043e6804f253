#include "shared_run/dispatcher.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/units.h"
#include "marked_list/status_table.h"
#include "taskfile/sources.h"

namespace wq::shared_run {

namespace {

using marked_list::Choice;
using marked_list::Document;
using marked_list::LineKind;
using marked_list::MarkedLine;
using marked_list::TryEnd;
using shared_list::SharedList;

// Each variable with a NUL behind it, as no value has one. The line follows as a comment, for the records.
constexpr const char* probe_command = R"(printf '%s\0' "$newtask" "$newid" "$jumpto" # )";
constexpr const char* forget_variables = "unset newtask newid jumpto\n";

// What a `#!` line has set.
struct Variables {
    std::string newtask;
    std::string newid;
    std::string jumpto;
};

std::optional<Variables> variables_in(const std::string& output) {
    std::array<std::string, 3> values;
    std::size_t at = 0;
    for (std::string& value : values) {
        const std::size_t end = output.find('\0', at);
        if (end == std::string::npos) return std::nullopt;
        value = output.substr(at, end - at);
        at = end + 1;
    }
    return Variables{values[0], values[1], values[2]};
}

constexpr std::uint32_t most_idle_jumps = 10;  // then one for each poll
constexpr int tries_at_close = 3;

}  // namespace

Turn Dispatcher::turn(const std::vector<Event>& events) {
    Turn turn;
    for (const Event& event : events) std::visit([&](const auto& one) { take(one, turn); }, event);
    const Instant now = instant_now();
    keep_lists(now, turn);
    // What ends on one seat may free lines for those before it.
    for (bool moves = true; moves;) {
        moves = false;
        for (auto& [number, seat] : seats_) moves |= give_lines(number, seat, turn);
    }
    turn.over = over();
    plan_next(instant_now(), turn);
    return turn;
}

void Dispatcher::note(const std::vector<Event>& events) {
    Turn turn;
    for (const Event& event : events) std::visit([&](const auto& one) { take(one, turn); }, event);
}

// What a list that worked suffers from may pass: a master that is away, a full disk.
void Dispatcher::note(const Error& problem, RunList& list, Turn& turn) {
    const bool locks = problem.message.find("does not lock") == std::string::npos;
    if (!locks || (!list.is_open() && problem.code != ExitCode::unreachable)) {
        turn.problem = problem;
    } else if (list.note_trouble(instant_now())) {
        options_.say(problem.message + "; trying again");
    }
}

// A list that a line has sent the worker to cannot be used: that is the end of this worker alone.
void Dispatcher::leave_for_good(Seat& seat, const Error& problem) {
    options_.say(seat.name + " takes no more lines: " + problem.message);
    seat.jobs = 0;
}

void Dispatcher::plan_next(Instant now, Turn& turn) const {
    std::optional<Instant> next = now + options_.poll;
    for (const auto& [name, list] : lists_) earliest(next, list.next());
    turn.next = std::max(*next, now);
    for (const auto& [number, seat] : seats_) {
        if (!seat.id) continue;
        if (const auto lapses = lists_.at(seat.list).lapses(*seat.id)) turn.lapses[number] = *lapses;
    }
}

void Dispatcher::add_list(const list_store::ListPlace& place) {
    const std::string name = list_store::name_of(place);
    if (lists_.contains(name)) return;
    auto store = options_.store ? options_.store(place) : list_store::store_at(place, options_.say);
    lists_.try_emplace(name, place, std::move(store), options_.lease, options_.say);
}

void Dispatcher::take(const SeatJoined& event, Turn&) {
    Seat seat;
    seat.name = event.name;
    seat.jobs = event.jobs;
    seat.list = list_store::name_of(options_.place);
    add_list(options_.place);
    seats_.insert_or_assign(event.seat, std::move(seat));
    had_seats_ = true;
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

// The worker leaves its list; what it runs is lost.
void Dispatcher::leave(Seat& seat) {
    if (!seat.taker) return;
    lists_.at(seat.list).leave(*seat.id, seat.taker->take_ends());
    seat.running.clear();
    seat.taker.reset();
    seat.id.reset();
}

void Dispatcher::take(const LineEnded& event, Turn&) {
    for (auto& [number, seat] : seats_) {
        if (seat.probe == event.ticket) {
            seat.probe.reset();
            take_probe(seat, event.output);
            return;
        }
        const auto line = seat.running.find(event.ticket);
        if (line == seat.running.end()) continue;
        seat.taker->add_end({line->second.number,
                             *seat.id,
                             line->second.begun,
                             {},
                             event.end,
                             event.exit_code,
                             line->second.command});
        seat.running.erase(line);
        return;
    }
}

// Plans what a `#!` line wants: another list, or another id.
void Dispatcher::take_probe(Seat& seat, const std::string& output) {
    const auto set = variables_in(output);
    if (!set || (set->newtask.empty() && set->newid.empty() && set->jumpto.empty())) return;
    const auto stays = [&](const std::string& why) {
        options_.say("worker " + std::to_string(*seat.id) + " stays in " + seat.list + ": " + why);
    };
    Jump jump{seat.list, std::nullopt};
    const std::string& list = set->jumpto.empty() ? set->newtask : set->jumpto;
    if (!list.empty()) {
        const auto place = list_store::list_place(list, lists_.at(seat.list).place().host);
        if (!place) return stays(place.error().message);
        add_list(*place);
        jump.list = list_store::name_of(*place);
    }
    if (!set->jumpto.empty()) {
        jump.id = seat.id;
    } else if (!set->newid.empty()) {
        const auto id = parse_count(set->newid, 0, std::int64_t{marked_list::no_worker} - 1);
        if (!id) return stays("newid: " + id.error().message);
        jump.id = static_cast<marked_list::WorkerId>(*id);
    }
    seat.jump = std::move(jump);
}

void Dispatcher::carry_out_jump(Seat& seat) {
    if (!seat.jump || !seat.taker || !seat.running.empty() || seat.taker->has_ends()) return;
    const Jump jump = *std::exchange(seat.jump, std::nullopt);
    leave(seat);
    seat.list = jump.list;
    seat.wanted = jump.id;
    // Lists that lead to each other, and have no lines to run, are looked at once in a while.
    if (++seat.idle_jumps > most_idle_jumps) seat.joins_at = instant_now() + options_.poll;
}

// A list that cannot be reached keeps no other one waiting.
void Dispatcher::keep_lists(Instant now, Turn& turn) {
    const bool looks = now >= looked_ + options_.poll;
    if (looks) looked_ = now;
    for (auto& [name, list] : lists_) {
        if (!list.is_usable(now)) continue;
        if (auto kept = list.keep(now, looks); !kept)
            note(kept.error(), list, turn);
        else if (list.is_open() && list.take_trouble_over())
            options_.say(name + " is reached again");
    }
}

Status Dispatcher::join(WorkerId number, Seat& seat, RunList& list, Turn& turn) {
    if (auto opened = list.open(); !opened) return opened;
    const auto joined = list.join(seat.name, seat.wanted);
    if (!joined) return joined.error();
    seat.id = *joined;
    seat.taker = std::make_unique<shared_list::LineTaker>(list.list(), *joined);
    turn.orders.emplace_back(
        RunEnvironment{number, "export WORKERID=" + std::to_string(*joined) +
                                   " TASKFILE=" + taskfile::shell_quote(list.place().file)});
    return list.keep(instant_now(), false);
}

// Whether something was recorded or begun.
bool Dispatcher::give_lines(WorkerId number, Seat& seat, Turn& turn) {
    RunList& list = lists_.at(seat.list);
    if (seat.jobs == 0 || !list.is_usable(instant_now())) return false;
    if (!seat.id) {
        if (instant_now() < seat.joins_at) return false;
        if (auto joined = join(number, seat, list, turn); !joined) {
            const bool sent = seat.list != list_store::name_of(options_.place) || seat.wanted;
            if (sent && joined.error().code != ExitCode::unreachable)
                leave_for_good(seat, joined.error());
            else
                note(joined.error(), list, turn);
            return false;
        }
    }
    bool moved = false;
    for (;;) {
        const auto more = step(number, seat, list, turn);
        if (!more) note(more.error(), list, turn);
        if (!more || !*more) break;
        moved = true;
    }
    const bool jumps = seat.jump.has_value();
    carry_out_jump(seat);
    return moved || (jumps && !seat.jump);
}

// Marks what has ended, and begins one line. False: there was nothing to do.
Result<bool> Dispatcher::step(WorkerId number, Seat& seat, RunList& list, Turn& turn) {
    const bool room = !seat.probe && !seat.jump && seat.running.size() < seat.jobs;
    const bool ends = seat.taker->has_ends();
    if (!room && !ends) return false;
    const auto next = seat.taker->step(room);
    if (!next) return next.error();
    if (*next) order(number, seat, list, **next, turn);
    return ends || next->has_value();
}

void Dispatcher::order(WorkerId number, Seat& seat, RunList& list, const Choice& choice, Turn& turn) {
    const Document& lines = list.list().list();
    const MarkedLine& line = lines.line(choice.number);
    const std::uint64_t ticket = ++tickets_;
    if (choice.environment) {
        turn.orders.emplace_back(RunEnvironment{number, forget_variables + line.command});
        turn.orders.emplace_back(RunLine{number, ticket, probe_command + line.command, choice.number, true});
        seat.probe = ticket;
        return;
    }
    seat.idle_jumps = 0;
    if (choice.replay != 0)
        turn.orders.emplace_back(RunEnvironment{number, lines.line(choice.replay).command});
    seat.running[ticket] = {choice.number, line.tries.back().begun, line.command};
    turn.orders.emplace_back(RunLine{number, ticket, line.command, choice.number, false});
}

bool Dispatcher::over() const {
    if (seats_.empty() && (!had_seats_ || options_.waits_for_workers)) {
        // The last worker may have left with the last line.
        return options_.once && had_seats_ && std::ranges::none_of(lists_, [](const auto& entry) {
                   const marked_list::ListCounts counts = marked_list::count(entry.second.list().list());
                   return counts.running + counts.failed + counts.waiting != 0;
               });
    }
    if (seats_.empty()) return true;
    if (!options_.once) return false;
    return std::ranges::all_of(seats_, [&](const auto& entry) {
        const Seat& seat = entry.second;
        if (seat.jobs == 0) return true;
        if (!seat.id || seat.probe || seat.jump || !seat.running.empty() || seat.taker->has_ends())
            return false;
        const SharedList& list = lists_.at(seat.list).list();
        return !choose(list.list(), *seat.id, list.place(*seat.id)) &&
               marked_list::why_waiting(list.list(), *seat.id).may_become_free == 0;
    });
}

Status Dispatcher::close() {
    for (auto& [number, seat] : seats_) leave(seat);
    std::optional<Error> problem;
    for (auto& [name, list] : lists_) {
        Status closed = list.close();
        for (int more = 1; more < tries_at_close && !closed; ++more) closed = list.close();
        if (!closed) problem = closed.error();
    }
    if (problem) return *problem;
    return success();
}

bool Dispatcher::failed() const {
    return std::ranges::any_of(lists_, [](const auto& entry) {
        const Document& lines = entry.second.list().list();
        if (!marked_list::blocked_lines(lines).empty()) return true;
        // A line for any worker is left only if it failed, or if all workers have gone.
        return std::ranges::any_of(lines.live_lines(), [&](std::uint64_t number) {
            const MarkedLine& line = lines.line(number);
            const bool has_failed =
                std::ranges::any_of(line.tries, [](const auto& one) { return one.end == TryEnd::error; });
            return line.kind == LineKind::open && (has_failed || line.workers.empty());
        });
    });
}

}  // namespace wq::shared_run
