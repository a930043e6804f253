// The dispatcher's seats: who joins, leaves, and goes from list to list.

#include "shared_list/source/dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "engine/tasklist/sources.h"
#include "engine/tasklist/tags.h"
#include "shared_list/ssh/ssh_store.h"
#include "shared_list/text/list_views.h"

namespace wq::shared_list::source {

namespace {

// Each variable in a line, nothing if none is set; also under `set -u`, and where functions are named like
// these commands.
constexpr const char* command =
    R"(command test -z "${newtask-}${newid-}${jumpto-}" || command printf '%s\n' "${newtask-}" "${newid-}" "${jumpto-}" # )";

}  // namespace

std::string probe_of(const std::string& line) {
    return command + line;
}

Result<replica::JumpVariables> answer_of(const std::string& output) {
    replica::JumpVariables set;
    if (output.empty()) return set;
    if (std::ranges::count(output, '\n') != 3 || !output.ends_with('\n'))
        return Error{ExitCode::bad_input, "newtask, newid or jumpto is no single line"};
    std::string_view rest = output;
    for (std::string* const value : {&set.newtask, &set.newid, &set.jumpto}) *value = next_line(rest);
    return set;
}

namespace {

using text::Choice;
using text::MarkedLine;
using text::TryEnd;

constexpr const char* forget_variables = "unset newtask newid jumpto";

}  // namespace

Turn Dispatcher::run_turn(const std::vector<Event>& events, bool gives) {
    Turn turn;
    gives_ = gives;
    for (const Event& event : events) std::visit([&](const auto& one) { take(one, turn); }, event);
    serve(turn);
    turn.over = gives && !turn.problem && over();
    turn.next = next(instant_now());
    return turn;
}

void Dispatcher::handle_events(const std::vector<Event>& events) {
    Turn turn;
    for (const Event& event : events) std::visit([&](const auto& one) { take(one, turn); }, event);
}

Status Dispatcher::give_lines(WorkerId number, Seat& seat, RunList& list, Turn& turn) {
    for (;;) {
        if (auto beaten = beat(number, seat, list, turn); !beaten) return beaten;
        const auto more = step(number, seat, list, turn);
        if (!more) return more.error();
        if (!*more) return success();
    }
}

// Marks what has ended, and begins one line. False: nothing more to begin.
Result<bool> Dispatcher::step(WorkerId number, Seat& seat, RunList& list, Turn& turn) {
    const bool room = gives_ && !seat.probe && !seat.jump && seat.running.size() < seat.jobs;
    const bool ends = seat.taker->has_ends();
    if (!room && !ends) return false;
    // A step asks the master, so that none is made in vain. One of which no answer came is asked again.
    if (!ends && !seat.unanswered && !choose(list.lines(), seat.id, list.shared().place(seat.id)))
        return false;
    const auto next = seat.taker->step(room);
    seat.unanswered = !next;
    if (!next) return next.error();
    moved_ = moved_ || ends;
    if (!*next) return false;
    order(number, seat, list, **next, turn);
    return !seat.probe;
}

void Dispatcher::order(WorkerId number, Seat& seat, RunList& list, const Choice& choice, Turn& turn) {
    const MarkedLine& line = list.lines().line(choice.number);
    const std::uint64_t ticket = ++tickets_;
    if (choice.environment) {
        turn.orders.emplace_back(RunEnvironment{number, forget_variables});
        const auto tagged = engine::tasklist::split_tags(line.command);  // what is said of it has the tag
        turn.orders.emplace_back(
            RunEnvironment{number, tagged ? std::string(tagged->command) : line.command});
        turn.orders.emplace_back(RunLine{number, ticket, probe_of(line.command), choice.number, true});
        seat.probe = ticket;
        return;
    }
    const std::string& begun = line.tries.back().begun;
    // The list was locked for long: others may have found us lost, and have taken the line that we began.
    if (seat.lease.has_lapsed())
        return seat.taker->add_end({choice.number, seat.id, begun, {}, TryEnd::lost, 0, line.command});
    if (choice.replay != 0)
        turn.orders.emplace_back(RunEnvironment{number, list.lines().line(choice.replay).command});
    seat.running[ticket] = {choice.number, begun, line.command};
    seat.ran_here = true;
    turn.orders.emplace_back(RunLine{number, ticket, line.command, choice.number});
}

void Dispatcher::give_up_lines(Seat& seat, const std::function<bool(const Line&)>& which, Turn& turn) {
    for (auto at = seat.running.begin(); at != seat.running.end();) {
        const auto& [ticket, line] = *at;
        if (!which(line)) {
            ++at;
            continue;
        }
        options_.say(seat.list + ": line " + std::to_string(line.number) +
                     " is killed here, since another worker may run it now");
        turn.orders.emplace_back(Forget{ticket});
        seat.taker->add_end({line.number, seat.id, line.begun, {}, TryEnd::lost, 0, line.command});
        at = seat.running.erase(at);
    }
}

RunList& Dispatcher::list_at(const store::ListPlace& place) {
    const std::string name = store::name_of(place);
    if (const auto found = lists_.find(name); found != lists_.end()) return found->second;
    auto store = options_.store ? options_.store(place) : ssh::store_at(place, options_.say);
    store->on_signs([this, name](Instant given) { note_signs(name, given); });
    return lists_.try_emplace(name, place, std::move(store), options_.say).first->second;
}

// A list that fails concerns its own seats only.
void Dispatcher::serve(Turn& turn) {
    const std::string first = store::name_of(options_.place);
    const auto use = [&](RunList& list, const auto& what) {
        if (!list.usable()) return;
        const Status done = what();
        if (done) return;
        // A host of the command line that cannot be reached at all is most often a mistyped one.
        const bool is_first = store::name_of(list.place()) == first;
        const bool never_there = is_first && !list.is_open();
        // It is no longer plain text. Lines that run may end before: somebody may mend the list meanwhile.
        const bool damaged = is_first && done.error().code == ExitCode::bad_input &&
                             list.shared().is_damaged() && !runs_lines();
        if (list.fail(done.error()) || never_there || damaged) turn.problem = done.error();
    };
    for (auto& [name, list] : lists_) {
        list.begin_turn();
        use(list, [&] { return keep(name, list, turn); });
    }
    // What one seat records may be what another waits for.
    do {
        moved_ = false;
        for (auto& [number, seat] : seats_) {
            if (seat.retired || turn.problem) continue;
            RunList& list = lists_.at(seat.list);
            use(list, [&] { return serve(number, seat, list, turn); });
        }
    } while (std::exchange(moved_, false));
    for (auto& [name, list] : lists_) list.end_turn();
}

bool Dispatcher::runs_lines() const {
    return std::ranges::any_of(seats_, [](const auto& entry) { return !entry.second.running.empty(); });
}

Status Dispatcher::serve(WorkerId number, Seat& seat, RunList& list, Turn& turn) {
    if (!seat.taker) {
        if (!gives_ || seat.join_at > instant_now()) return success();
        const Status opened = list.open();
        if (!opened && opened.error().code != ExitCode::unreachable &&
            seat.list != store::name_of(options_.place)) {
            retire(seat, opened.error());
            return success();
        }
        if (!opened) return opened;
        if (auto joined = join(number, seat, list, turn); !joined || seat.retired) return joined;
    }
    give_up_lines(
        seat,
        [&](const Line& line) { return seat.taker->is_taken_away(line.number, line.begun, line.command); },
        turn);
    if (auto given = give_lines(number, seat, list, turn); !given) return given;
    if (!gives_ || !seat.jump || !seat.running.empty() || seat.taker->has_ends()) return success();
    move(seat);
    return list.record_left();
}

// Signs of our seats come first, and theirs are no matter for the rest: they are not lost as long as we are
// here.
Status Dispatcher::keep(const std::string& name, RunList& list, Turn& turn) {
    if (!list.is_open()) return success();
    if (list.in_trouble()) {
        if (auto fresh = list.shared().refresh(); !fresh) return fresh;
    }
    std::set<text::WorkerId> ours;
    for (auto& [number, seat] : seats_) {
        if (!seat.taker || seat.list != name) continue;
        if (auto beaten = beat(number, seat, list, turn); !beaten) return beaten;
        ours.insert(seat.id);
    }
    if (auto recorded = list.record_left(); !recorded) return recorded;
    std::optional<Instant> look = list.looked() + options_.poll;
    earliest(look, list.next_look());
    if ((!ours.empty() || list.next_look()) && instant_now() >= *look) {
        if (auto looked = list.follow_others(ours); !looked) return looked;
    }
    return list.settle_if_due();
}

Instant Dispatcher::next(Instant now) const {
    std::optional<Instant> next = now + options_.poll;
    if (more_seats_are_expected()) earliest(next, started_ + options_.join_limit);
    for (const auto& [name, list] : lists_) {
        if (list.in_trouble()) earliest(next, list.try_at());
        if (!list.is_open() || list.in_trouble()) continue;
        earliest(next, list.shared().unsettled());
        earliest(next, list.next_look());
    }
    for (const auto& [number, seat] : seats_) {
        if (seat.retired || lists_.at(seat.list).in_trouble()) continue;
        if (!seat.taker)
            earliest(next, seat.join_at);
        else if (seat.lease.last())
            earliest(next, seat.lease.next());
    }
    return std::max(*next, now);
}

bool Dispatcher::over() const {
    if (std::ranges::any_of(lists_, [](const auto& entry) { return entry.second.has_left(); })) return false;
    if (std::ranges::all_of(seats_, [](const auto& entry) { return entry.second.retired; }))
        return over_without_seats();
    if (more_seats_are_expected() && something_is_left()) return false;
    return options_.once && std::ranges::all_of(seats_, [&](const auto& entry) {
               const Seat& seat = entry.second;
               if (seat.retired) return true;
               if (!seat.taker || seat.probe || seat.jump || !seat.running.empty() || seat.taker->has_ends())
                   return false;
               const RunList& list = lists_.at(seat.list);
               if (list.in_trouble() || list.next_look() || list.shared().has_unfinished_line()) return false;
               return !choose(list.lines(), seat.id, list.shared().place(seat.id)) &&
                      text::why_waiting(list.lines(), seat.id).may_become_free == 0;
           });
}

// Another worker may come for what is left.
bool Dispatcher::over_without_seats() const {
    if (seats_joined_ == 0) return false;
    if (!options_.waits_for_workers && !more_seats_are_expected()) return true;
    return options_.once && !something_is_left();
}

bool Dispatcher::more_seats_are_expected() const {
    return seats_joined_ < options_.expected_seats && instant_now() < started_ + options_.join_limit;
}

bool Dispatcher::something_is_left() const {
    return std::ranges::any_of(lists_, [](const auto& entry) {
        const auto counts = text::count(entry.second.lines());
        return !entry.second.is_open() || entry.second.shared().has_unfinished_line() ||
               counts.failed + counts.waiting + counts.running != 0;
    });
}

Status Dispatcher::close() {
    Status closed = success();
    for (auto& [number, seat] : seats_) leave(seat);
    for (auto& [name, list] : lists_) {
        if (!list.is_open()) continue;
        if (auto one = list.close(); !one) closed = one;
    }
    return closed;
}

bool Dispatcher::failed() const {
    return std::ranges::any_of(lists_, [](const auto& entry) {
        const auto counts = text::count(entry.second.lines());
        return counts.failed + counts.waiting != 0;
    });
}

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
            handle_probe(seat, event);
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

void Dispatcher::handle_probe(Seat& seat, const LineEnded& event) {
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
        if (!is_free && is_free.error().code == ExitCode::usage) {
            retire(seat, is_free.error());
            return success();
        }
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
