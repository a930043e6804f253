#include "shared_run/dispatcher.h"

#include <algorithm>
#include <array>
#include <utility>

#include "marked_list/status_table.h"
#include "taskfile/sources.h"

namespace wq::shared_run {

namespace {

using marked_list::Choice;
using marked_list::Document;
using marked_list::Edit;
using marked_list::End;
using marked_list::LineKind;
using marked_list::MarkedLine;
using marked_list::Take;
using marked_list::TryEnd;
using shared_list::SharedList;

// Each variable with a NUL behind it, as no value has one. The line follows as a comment, for the records.
constexpr const char* probe_command = R"(printf '%s\0' "$newtask" "$newid" "$jumpto" # )";
constexpr const char* forget_variables = "unset newtask newid jumpto\n";

struct Jump {
    std::string list;
    std::optional<marked_list::WorkerId> id;
};

// What a `#!` line has set; nothing: the worker stays.
std::optional<Jump> jump_in(const std::string& output, marked_list::WorkerId id) {
    std::array<std::string, 3> values;
    std::size_t at = 0;
    for (std::string& value : values) {
        const std::size_t end = output.find('\0', at);
        if (end == std::string::npos) return std::nullopt;
        value = output.substr(at, end - at);
        at = end + 1;
    }
    const auto& [newtask, newid, jumpto] = values;
    if (!jumpto.empty()) return Jump{jumpto, id};
    if (newtask.empty() && newid.empty()) return std::nullopt;
    Jump jump{newtask, std::nullopt};
    if (!newid.empty())
        jump.id = static_cast<marked_list::WorkerId>(std::strtoul(newid.c_str(), nullptr, 10));
    return jump;
}

}  // namespace

Turn Dispatcher::turn(const std::vector<Event>& events) {
    Turn turn;
    for (const Event& event : events) std::visit([&](const auto& one) { take(one, turn); }, event);
    if (auto served = serve(turn); !served)
        turn.problem = served.error();
    else
        turn.over = over();
    const Instant now = instant_now();
    turn.next = now + options_.poll;
    for (auto& [name, list] : lists_) {
        if (!list.list) continue;
        if (const auto due = list.list->unsettled()) turn.next = std::min(turn.next, std::max(*due, now));
    }
    return turn;
}

void Dispatcher::note(const std::vector<Event>& events) {
    Turn turn;
    for (const Event& event : events) std::visit([&](const auto& one) { take(one, turn); }, event);
}

void Dispatcher::take(const SeatJoined& event, Turn&) {
    Seat seat;
    seat.name = event.name;
    seat.jobs = std::max(1U, event.jobs);
    seat.list = list_store::name_of(options_.place);
    lists_.try_emplace(seat.list, List{options_.place, nullptr, nullptr});
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
    left_[seat.list][*seat.id] = seat.taker->take_ends();
    (void)lists_.at(seat.list).store->remove_sign(*seat.id);
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

// The worker goes to another list, or gets another id.
void Dispatcher::take_probe(Seat& seat, const std::string& output) {
    const auto jump = jump_in(output, *seat.id);
    if (!jump) return;
    std::string next = seat.list;
    if (!jump->list.empty()) {
        const auto place = list_store::list_place(jump->list, lists_.at(seat.list).place.host);
        if (!place) {
            options_.say("worker " + std::to_string(*seat.id) + " stays: " + place.error().message);
            return;
        }
        next = list_store::name_of(*place);
        lists_.try_emplace(next, List{*place, nullptr, nullptr});
    }
    leave(seat);
    seat.list = std::move(next);
    seat.wanted = jump->id;
}

Status Dispatcher::serve(Turn& turn) {
    for (auto& [name, workers] : left_) {
        if (auto marked = mark_left(name); !marked) return marked;
    }
    const Instant now = instant_now();
    const bool polls = now >= refreshed_ + options_.poll;
    for (auto& [name, list] : lists_) {
        if (!list.list) continue;
        if (polls) {
            if (auto fresh = list.list->refresh(); !fresh) return fresh;
            if (auto released = release_lost(list); !released) return released;
        }
        if (const auto due = list.list->unsettled(); due && *due <= now)
            if (auto settled = list.list->settle(); !settled) return settled;
    }
    if (polls) refreshed_ = now;
    for (auto& [number, seat] : seats_) {
        if (auto given = give_lines(number, seat, turn); !given) return given;
    }
    return success();
}

Result<Dispatcher::List*> Dispatcher::list_of(Seat& seat) {
    List& list = lists_.at(seat.list);
    if (list.list) return &list;
    list.store = options_.store ? options_.store(list.place) : list_store::store_at(list.place, options_.say);
    auto shared = std::make_unique<SharedList>(*list.store, options_.say);
    if (auto opened = shared->open(); !opened) return opened.error();
    list.list = std::move(shared);
    return &list;
}

Status Dispatcher::join(WorkerId number, Seat& seat, List& list, Turn& turn) {
    const auto joined = list.list->join(seat.name, seat.wanted);
    if (!joined) return joined.error();
    seat.id = *joined;
    seat.beaten = Instant{};
    list.list->move_to(0, *joined);
    seat.taker = std::make_unique<shared_list::LineTaker>(*list.list, *joined);
    turn.orders.emplace_back(
        RunEnvironment{number, "export WORKERID=" + std::to_string(*joined) +
                                   " TASKFILE=" + taskfile::shell_quote(list.place.file)});
    return beat(seat, list);
}

Status Dispatcher::give_lines(WorkerId number, Seat& seat, Turn& turn) {
    const auto list = list_of(seat);
    if (!list) return list.error();
    if (!seat.id) {
        if (auto joined = join(number, seat, **list, turn); !joined) return joined;
    }
    if (auto beaten = beat(seat, **list); !beaten) return beaten;
    for (;;) {
        const auto more = step(number, seat, **list, turn);
        if (!more) return more.error();
        if (!*more) return success();
    }
}

// Marks what has ended, and begins one line. False: nothing more to begin.
Result<bool> Dispatcher::step(WorkerId number, Seat& seat, List& list, Turn& turn) {
    const bool room = !seat.probe && seat.running.size() < seat.jobs;
    if (!room && !seat.taker->has_ends()) return false;
    const auto next = seat.taker->step(room);
    if (!next) return next.error();
    if (!*next) return false;
    order(number, seat, list, **next, turn);
    return !seat.probe;
}

void Dispatcher::order(WorkerId number, Seat& seat, List& list, const Choice& choice, Turn& turn) {
    const MarkedLine& line = list.list->list().line(choice.number);
    const std::uint64_t ticket = ++tickets_;
    if (choice.environment) {
        turn.orders.emplace_back(RunEnvironment{number, forget_variables + line.command});
        turn.orders.emplace_back(RunLine{number, ticket, probe_command + line.command, choice.number});
        seat.probe = ticket;
        return;
    }
    if (choice.replay != 0)
        turn.orders.emplace_back(RunEnvironment{number, list.list->list().line(choice.replay).command});
    seat.running[ticket] = {choice.number, line.tries.back().begun, line.command};
    turn.orders.emplace_back(RunLine{number, ticket, line.command, choice.number});
}

Status Dispatcher::beat(Seat& seat, List& list) {
    const Instant now = instant_now();
    const Duration every = std::min<Duration>(options_.lease / 4, std::chrono::seconds(30));
    if (seat.beaten != Instant{} && now < seat.beaten + every) return success();
    seat.beaten = now;
    return list.store->beat(*seat.id, options_.lease);
}

// Lines of workers that gave no sign for longer than their lease wait again.
Status Dispatcher::release_lost(List& list) {
    const auto signs = list.store->signs();
    if (!signs) return signs.error();
    for (const list_store::Sign& sign : *signs) {
        if (sign.lease == Duration{0} || sign.age < sign.lease) continue;
        const auto released = list.list->change("release", [&](const Document& lines) {
            return marked_list::release(lines, sign.worker, list.list->stamp());
        });
        if (!released) return released.error();
        if (!released->empty())
            options_.say("worker " + std::to_string(sign.worker) +
                         " is lost; lines that wait again: " + std::to_string(released->size()));
        if (auto removed = list.store->remove_sign(sign.worker); !removed) return removed;
    }
    return success();
}

Status Dispatcher::mark_left(const std::string& name) {
    auto& workers = left_[name];
    SharedList& list = *lists_.at(name).list;
    while (!workers.empty()) {
        auto& [worker, ends] = *workers.begin();
        const auto made = list.change("farewell of worker " + std::to_string(worker),
                                      [&, id = worker](const Document& lines) {
                                          return shared_list::farewell(lines, id, ends, list.stamp());
                                      });
        if (!made) return made.error();
        shared_list::drop_made(ends, *made);
        if (ends.empty()) workers.erase(workers.begin());
    }
    return success();
}

bool Dispatcher::over() const {
    if (seats_.empty()) return had_seats_ && !options_.waits_for_workers;
    if (!options_.once) return false;
    return std::ranges::all_of(seats_, [&](const auto& entry) {
        const Seat& seat = entry.second;
        if (!seat.id || seat.probe || !seat.running.empty()) return false;
        const SharedList& list = *lists_.at(seat.list).list;
        return !choose(list.list(), *seat.id, list.place(*seat.id)) &&
               marked_list::why_waiting(list.list(), *seat.id).may_become_free == 0;
    });
}

Status Dispatcher::close() {
    std::optional<Error> problem;
    for (auto& [number, seat] : seats_) leave(seat);
    for (auto& [name, workers] : left_) {
        if (const auto marked = mark_left(name); !marked) problem = marked.error();
    }
    for (auto& [name, list] : lists_) {
        if (!list.list) continue;
        if (auto settled = list.list->settle(); !settled) problem = settled.error();
    }
    if (problem) return *problem;
    return success();
}

bool Dispatcher::failed() const {
    return std::ranges::any_of(lists_, [](const auto& entry) {
        if (!entry.second.list) return false;
        const Document& lines = entry.second.list->list();
        return marked_list::count(lines).failed != 0 || !marked_list::blocked_lines(lines).empty();
    });
}

}  // namespace wq::shared_run
