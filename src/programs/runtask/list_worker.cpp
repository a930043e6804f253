#include "programs/runtask/list_worker.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/find_program.h"
#include "base/units.h"
#include "shared_list/text/list_views.h"

namespace wq::programs::runtask {

namespace {

using shared_list::text::TryEnd;

constexpr Duration between_peeks = std::chrono::milliseconds(50);  // each takes some 20 us
constexpr int looks_of_time = 100;  // looks that others' changes cause take at most a hundredth of the time

WorkerShell::Settings shell_settings(const Options& options, std::function<void(const std::string&)> say) {
    return {find_shell().or_throw(), options.jobs > 1, options.timeout, std::move(say)};
}

Joining joining(const Options& options) {
    return {options.list, options.name.empty() ? default_worker_name() : options.name, options.id,
            options.lease};
}

bool can_choose(Membership& member) {
    const shared_list::replica::SharedList& list = member.list();
    return shared_list::text::choose(list.list(), member.id(), list.place(member.id())).has_value();
}

}  // namespace

ListWorker::ListWorker(const Options& options)
    : options_(options),
      say_([this](const std::string& line) { terminal_.print_remark(line); }),
      shell_(shell_settings(options, say_)),
      watch_(
          {[this] { shell_.kill_all_soon(); }, [this](Instant now) { return shell_.enforce_limits(now); },
           [this] {
               say_(
                   "interrupted: waiting for the lock (or the host) of the list; press Ctrl-C again to leave "
                   "at once");
           }}),
      running_(options_, terminal_, shell_, watch_, say_) {
    choose_list(joining(options_));
}

Result<int> ListWorker::run() {
    if (auto joined = join(instant_now()); !joined) return joined.error();
    while (!end_.has_come()) {
        if (running_.must_stop()) return interrupt();
        const auto then = run_turn();
        if (!then)
            end_.fail(then.error());
        else if (*then == Then::wait && !end_.has_come())
            wait();
    }
    if (running_.any_runs()) shell_.kill_all();  // before others may run these lines
    record_and_leave();
    return end_.result();
}

Result<ListWorker::Then> ListWorker::run_turn() {
    const Instant now = instant_now();
    if (outage_.may_try(now)) serve_and_report(now);
    return take_shell_events();
}

Result<ListWorker::Then> ListWorker::take_shell_events() {
    auto events = running_.take_events(instant_now());
    if (!events) return events.error();
    for (ShellEvent& event : *events) std::visit([&](auto& one) { on(std::move(one)); }, event);
    const Then then = events->empty() && !running_.are_being_killed() ? Then::wait : Then::go_on;
    running_.end_lapse_if_none_runs();
    running_.set_times();  // what follows may wait for the list's lock
    return then;
}

void ListWorker::serve_and_report(Instant now) {
    if (const Status served = serve(now); !served) {
        if (served.error().code == ExitCode::interrupted) return;
        const shared_list::replica::SharedList& list = member_->list();
        const bool damaged = list.is_damaged() && served.error().code == ExitCode::bad_input;
        if (list.lock_failed() || (damaged && !running_.any_runs())) return end_.fail(served.error());
        if (!outage_.is_on()) say_(served.error().message + "; trying again");
        outage_.note_failure(instant_now());
    } else if (outage_.is_on()) {
        say_("connected again: " + member_->name());
        outage_.end();
    }
}

Status ListWorker::serve(Instant now) {
    if (!member_->joined()) {
        auto joined = join(now);
        if (!joined && joined.error().code != ExitCode::unreachable) end_.fail(joined.error());
        if (!joined || !member_->joined()) return joined;
    }
    const auto look =
        looks_.is_due(now) ? Membership::LookAtOthers::always : Membership::LookAtOthers::if_due;
    // What others do may let a line begin that waits for theirs.
    looks_.peek(now, between_peeks, [this] { return member_->state(); });
    if (outage_.is_on()) {
        if (auto fresh = member_->list().refresh(); !fresh) return fresh;
    }
    running_.lapse_if_due();
    if (auto kept = member_->keep(now, look); !kept) return kept;
    running_.give_up_taken_away();
    running_.set_times();
    if (auto taken = take_lines(now); !taken) return taken;
    if (!running_.is_idle() || member_->lines().has_ends()) return success();
    if (end_.is_planned())
        end_.leave();
    else if (move_.is_planned())
        move_now(now);
    return success();
}

Status ListWorker::join(Instant now) {
    if (move_.join_at() > now) return success();
    if (auto joined = member_->join(); !joined) return joined;
    member_->list().move_to(move_.place(), member_->id());
    shell_.export_variables(
        {{"WORKERID", std::to_string(member_->id())}, {"TASKFILE", member_->place().file}});
    return success();
}

Status ListWorker::take_lines(Instant now) {
    for (;;) {
        const auto begun = take_line(now);
        if (!begun) return begun.error();
        if (!*begun) return success();
        // Lines in the background begin one after the other.
        if (auto events = take_shell_events(); !events) {
            end_.fail(events.error());
            return success();
        }
    }
}

// Records ends, and begins a line in the same change. False: none was begun.
Result<bool> ListWorker::take_line(Instant now) {
    shared_list::replica::LineTaker& lines = member_->lines();
    const bool recorded = lines.has_ends();
    const bool may_begin = has_room() && (looks_.may_look(now) || recorded);
    if (!may_begin && !recorded) return false;
    looks_.begin_look(member_->state());
    const auto next = lines.step(may_begin);
    if (!next) return next.error();
    looks_.look_at_once();
    const bool is_task = *next && !(**next).environment;
    if (member_->lease().has_lapsed() && (is_task || !*next)) {
        // The change has waited for long: others may have found us lost, and have taken the line.
        if (is_task) {
            const shared_list::text::MarkedLine& line = member_->list().list().line((**next).number);
            lines.add_end(
                {(**next).number, member_->id(), line.tries.back().begun, {}, TryEnd::lost, 0, line.command});
        }
        if (auto kept = member_->keep(instant_now(), Membership::LookAtOthers::if_due); !kept)
            return kept.error();
        return take_line(now);
    }
    if (*next) {
        begin(**next);
        return true;
    }
    if (!may_begin) return false;
    // What has ended may wait again. And the step may have told of an earlier decision, whose answer was
    // lost.
    if (recorded || can_choose(*member_)) return take_line(now);
    on_nothing_to_take(now);
    return false;
}

bool ListWorker::has_room() const {
    return !move_.is_planned() && !end_.is_planned() && running_.has_room();
}

void ListWorker::begin(const shared_list::text::Choice& choice) {
    waits_for_.clear();
    if (!choice.environment) move_.note_line();
    running_.begin(choice);
}

void ListWorker::on(const EnvironmentLineEnded& event) {
    if (running_.end_environment(event.answer) == RunningLines::Waiter::none) plan_move(event.answer);
}

void ListWorker::on(ShellLeft event) {
    end_.plan(event.exit_code);
    running_.note_exit(event.exit_code);
}

void ListWorker::on(TaskEnded event) {
    running_.end_task(std::move(event));
}

void ListWorker::on_nothing_to_take(Instant now) {
    const Instant looked = instant_now();
    std::optional<Instant> look_at = now + options_.poll;
    earliest(look_at, member_->next_look_at_lost());
    if (member_->list().has_unfinished_line()) earliest(look_at, member_->list().unsettled());
    looks_.plan(*look_at, looked + std::max(between_peeks, looks_of_time * (looked - now)));
    const shared_list::text::Waiting why =
        shared_list::text::why_waiting(member_->list().list(), member_->id());
    const bool more_may_come =
        why.may_become_free != 0 || member_->next_look_at_lost() || member_->list().has_unfinished_line();
    if (options_.once && !running_.any_runs() && !more_may_come) {
        end_.plan(print_what_is_left(why));
    } else if (!running_.any_runs() && terminal_.has_reader()) {
        const std::string text = waiting_text(why, member_->list().list(), member_->id());
        if (std::exchange(waits_for_, text) != text) say_(text);
    }
}

// Returns the exit code.
int ListWorker::print_what_is_left(const shared_list::text::Waiting& why) {
    const shared_list::text::Document& list = member_->list().list();
    const auto say = [&](const std::string& text) { say_(member_->name() + ": " + text); };
    const shared_list::text::Waiting for_good = blocked_for_good(why, list, member_->id());
    const std::string undone = undone_text(for_good, shared_list::text::count(list).failed);
    if (!undone.empty())
        say(undone);
    else if (why.running != 0)
        say(count_of(why.running, "line") + " still running on other workers");
    if (why.running == 0 && why.others != 0)
        say(others_text(list, member_->id(), why.blocked - for_good.blocked));
    if (const std::uint64_t number = shared_list::text::first_misaddressed(list); number != 0) {
        say("line " + std::to_string(number) + ": " + shared_list::text::misaddressed_text);
        return to_int(ExitCode::bad_input);
    }
    // Not these: this worker has done all that it may.
    return to_int(undone.empty() ? ExitCode::ok : ExitCode::tasks_failed);
}

// Signals are heeded also while other workers are faster in changing the list, again and again.
void ListWorker::choose_list(Joining joining) {
    member_ = std::make_unique<Membership>(std::move(joining), say_, [this] { running_.set_times(); });
    member_->list().between_tries([this](Duration pause) { return between_tries(pause); });
    running_.belong_to(*member_);
}

void ListWorker::plan_move(const LineAnswer& answer) {
    auto jump = shared_list::replica::jump_of({answer.newtask, answer.newid, answer.jumpto}, member_->id(),
                                              member_->place());
    if (!jump) return say_("stays in " + member_->name() + ": " + jump.error().message);
    if (*jump) move_.plan(std::move(**jump));
}

void ListWorker::move_now(Instant now) {
    const shared_list::replica::Jump jump = move_.take();
    const std::uint64_t place = jump.same_list ? member_->list().place(member_->id()) : 0;
    // The sign of a worker that is gone is removed by others.
    if (auto left = member_->leave(); !left) say_(left.error().message);
    Joining joins = joining(options_);
    joins.place = jump.place;
    joins.id = jump.id;
    choose_list(std::move(joins));
    if (!jump.same_list) shell_.forget_lines();
    move_.arrive(place, now + options_.poll);
    looks_.look_at_once();
    waits_for_.clear();
}

std::optional<Instant> ListWorker::next() const {
    std::optional<Instant> next = shell_.next();
    if (outage_.is_on()) {
        earliest(next, outage_.try_at());
    } else if (!member_->joined()) {
        earliest(next, move_.join_at());
    } else {
        earliest(next, member_->next(instant_now()));
        // Lines in the background begin one after the other; that one has begun is no event.
        if (has_room()) earliest(next, looks_.next(instant_now()));
    }
    return next;
}

void ListWorker::wait() {
    std::vector<pollfd> ready{{watch_.descriptor(), POLLIN, 0}, {terminal_.descriptor(), 0, 0}};
    shell_.add_descriptors(ready);
    int limit = -1;
    if (const auto until = next()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - instant_now());
        limit = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }
    ::poll(ready.data(), ready.size(), limit);
}

Status ListWorker::between_tries(Duration pause) {
    pollfd signal{end_.is_recording() ? -1 : watch_.descriptor(), POLLIN, 0};
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(pause).count();
    if (pause > Duration{0}) ::poll(&signal, 1, static_cast<int>(limit));
    if (end_.is_recording() || !running_.must_stop()) return success();
    return Error{ExitCode::interrupted, "interrupted"};
}

int ListWorker::interrupt() {
    const std::string why = watch_.stopped() ? "interrupted" : "nobody reads the output any more";
    say_(why + (running_.any_runs() ? ": running lines are killed, and wait again" : ""));
    running_.lose_all();
    record_and_leave();
    return to_int(ExitCode::interrupted);
}

void ListWorker::record_and_leave() {
    if (!member_->joined()) return;
    end_.begin_record();
    Status recorded = success();
    for (int tries = 0; tries < 3 && member_->lines().has_ends(); ++tries)
        recorded = member_->lines().record_ends();
    if (recorded) recorded = member_->leave();
    if (!recorded)
        say_(recorded.error().message + "; lines without a recorded end wait again when the lease is over");
}

namespace {

// "" for addresses that mean nothing to other machines.
std::string address_text(const sockaddr& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.sa_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        constexpr unsigned loopback = 127;
        if (ntohl(v4.sin_addr.s_addr) >> 24 != loopback)
            ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    } else if (address.sa_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        if (!IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) && !IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr))
            ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    }
    return text.data();
}

}  // namespace

std::string default_worker_name() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    std::string name = host.data();
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return name;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr) continue;
        const std::string address = address_text(*one->ifa_addr);
        if (!address.empty()) name += " " + address;
    }
    return name;
}

namespace {

constexpr std::size_t most_ids_named = 8;

std::string first_blocked(const shared_list::text::Waiting& why) {
    return "line " + std::to_string(why.first_blocked) + " waits for line " + std::to_string(why.blocked_by) +
           (why.group.empty() ? "" : " (group " + line_for_message(why.group) + ")");
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

bool is_for_others(const shared_list::text::MarkedLine& line, shared_list::text::WorkerId worker) {
    return line.kind == shared_list::text::LineKind::open && !line.workers.empty() &&
           std::ranges::find(line.workers, worker) == line.workers.end();
}

struct Others {
    std::uint64_t lines = 0;
    std::set<shared_list::text::WorkerId> ids;
};

Others others_of(const shared_list::text::Document& list, shared_list::text::WorkerId worker) {
    Others others;
    for (const std::uint64_t number : list.live_lines()) {
        const shared_list::text::MarkedLine& line = list.line(number);
        if (!is_for_others(line, worker)) continue;
        ++others.lines;
        others.ids.insert(line.workers.begin(), line.workers.end());
    }
    return others;
}

std::string named(const std::set<shared_list::text::WorkerId>& ids) {
    std::string text;
    std::size_t count = 0;
    for (const shared_list::text::WorkerId id : ids) {
        if (count++ == most_ids_named) return text + " ...";
        text += id == shared_list::text::no_worker ? " #@ (no number)" : " #@" + std::to_string(id);
    }
    return text;
}

bool may_run_elsewhere(const shared_list::text::MarkedLine& line, shared_list::text::WorkerId worker) {
    return is_for_others(line, worker) &&
           !std::ranges::all_of(line.workers, [&](shared_list::text::WorkerId id) {
               return shared_list::text::has_tried(line, id);
           });
}

// Blocked lines whose chain of waiting begins at a line that another worker may run.
std::set<std::uint64_t> waiting_for_others(
    const shared_list::text::Document& list, shared_list::text::WorkerId worker,
    const std::map<std::uint64_t, shared_list::text::BlockedBy>& blocks) {
    std::set<std::uint64_t> waiting;
    std::uint64_t first = 0;  // that is to be run: a bare `#:` waits for it
    for (const std::uint64_t number : list.live_lines()) {
        const shared_list::text::MarkedLine& line = list.line(number);
        if (line.kind == shared_list::text::LineKind::environment) continue;
        if (first == 0 && line.kind != shared_list::text::LineKind::barrier) first = number;
        const auto block = blocks.find(number);
        std::uint64_t by = block == blocks.end() ? 0 : block->second.by;
        if (by != 0 && list.line(by).kind == shared_list::text::LineKind::barrier) by = first;
        if (by == 0) continue;
        if (waiting.contains(by) || may_run_elsewhere(list.line(by), worker)) waiting.insert(number);
    }
    return waiting;
}

}  // namespace

shared_list::text::Waiting blocked_for_good(shared_list::text::Waiting why,
                                            const shared_list::text::Document& list,
                                            shared_list::text::WorkerId worker) {
    const auto blocks = shared_list::text::blocked_lines(list);
    const auto waiting = waiting_for_others(list, worker, blocks);
    why.blocked = why.first_blocked = 0;
    for (const auto& [number, block] : blocks) {
        const shared_list::text::MarkedLine& line = list.line(number);
        if (waiting.contains(number) || is_for_others(line, worker) ||
            shared_list::text::has_tried(line, worker))
            continue;
        ++why.blocked;
        if (why.first_blocked != 0) continue;
        why.first_blocked = number;
        why.blocked_by = block.by;
        why.group = block.group;
    }
    return why;
}

std::string waiting_text(const shared_list::text::Waiting& why, const shared_list::text::Document& list,
                         shared_list::text::WorkerId worker) {
    std::vector<std::string> parts;
    if (why.blocked != 0) parts.push_back(first_blocked(why));
    if (why.running != 0) parts.push_back(count_of(why.running, "line") + " running");
    if (why.tried != 0) parts.push_back(count_of(why.tried, "line") + " that failed here, for other workers");
    if (why.others != 0)
        parts.push_back(count_of(why.others, "line") +
                        " for other workers:" + named(others_of(list, worker).ids));
    return parts.empty() ? "waiting for new lines" : "waiting: " + joined(parts);
}

std::string undone_text(const shared_list::text::Waiting& why, std::uint64_t failed) {
    std::vector<std::string> parts;
    if (failed != 0) parts.push_back(count_of(failed, "line") + " failed");
    if (why.blocked != 0)
        parts.push_back(count_of(why.blocked, "line") + " cannot run: " + first_blocked(why));
    return joined(parts);
}

std::string others_text(const shared_list::text::Document& list, shared_list::text::WorkerId worker,
                        std::uint64_t blocked) {
    const Others others = others_of(list, worker);
    if (others.lines == 0) return {};
    return count_of(others.lines, "line") + (others.lines == 1 ? " is" : " are") +
           " for other workers:" + named(others.ids) +
           (blocked == 0
                ? ""
                : "; " + count_of(blocked, "line") + (blocked == 1 ? " waits" : " wait") + " for them");
}

}  // namespace wq::programs::runtask
