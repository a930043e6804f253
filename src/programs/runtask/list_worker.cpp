#include "programs/runtask/list_worker.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "base/find_program.h"
#include "base/units.h"
#include "shared_list/text/list_views.h"

namespace wq::programs::runtask {

namespace {

using shared_list::text::Choice;
using shared_list::text::TryEnd;

constexpr Duration least_pause = std::chrono::seconds(1);
constexpr Duration most_pause = std::chrono::seconds(30);
constexpr Duration between_peeks = std::chrono::milliseconds(50);  // each takes some 20 us
constexpr int looks_of_time = 100;  // looks that others' changes cause take at most a hundredth of the time
constexpr int most_idle_moves = 2;
// A terminal's key reaches the line and us; the line may be faster.
constexpr Duration signals_together = std::chrono::milliseconds(50);
constexpr std::array stop_codes{128 + SIGHUP, 128 + SIGINT, 128 + SIGTERM};

// As the user went there, by symbolic links perhaps.
std::string first_directory() {
    const char* const logical = std::getenv("PWD");
    std::error_code problem;
    if (logical != nullptr && std::filesystem::equivalent(logical, ".", problem)) return logical;
    return std::filesystem::current_path(problem).string();
}

WorkerShell::Settings shell_settings(const Options& options, std::function<void(const std::string&)> say) {
    return {find_shell().or_throw(), options.jobs > 1, options.timeout, std::move(say)};
}

Joining joining(const Options& options) {
    return {options.list, options.name.empty() ? default_worker_name() : options.name, options.id,
            options.lease};
}

}  // namespace

Worker::Worker(const Options& options)
    : options_(options),
      say_([this](const std::string& line) { terminal_.print_remark(line); }),
      shell_(shell_settings(options, say_)),
      watch_(
          {[this] { shell_.kill_all_soon(); }, [this](Instant now) { return shell_.enforce_limits(now); },
           [this] {
               say_(
                   "interrupted: waits for the lock (or the host) of the list; press Ctrl-C again to leave "
                   "at once");
           }}),
      member_(std::make_unique<Membership>(joining(options), say_, [this] { set_times(); })),
      directory_(first_directory()) {
    heed_signals();
}

Result<int> Worker::run() {
    if (auto joined = join(instant_now()); !joined) return joined.error();
    while (!exit_code_ && !fatal_) {
        if (must_stop()) return interrupt();
        if (auto done = run_turn(); !done) fatal_ = done.error();
        if (!exit_code_ && !fatal_ && !busy_) wait();
    }
    if (!running_.empty()) shell_.kill_all();  // before others may run these lines
    record_and_leave();
    if (fatal_) return *fatal_;
    return *exit_code_;
}

bool Worker::must_stop() const {
    return watch_.stopped() || terminal_.is_broken();
}

Status Worker::run_turn() {
    const Instant now = instant_now();
    if (!problem_ || now >= try_at_) serve_and_report(now);
    return take_shell_events();
}

Status Worker::take_shell_events() {
    note_lapse();  // a line that has not begun must not begin
    auto events = shell_.take_events(instant_now());
    if (!events) return events.error();
    note_lapse();
    for (ShellEvent& event : *events) std::visit([&](auto& one) { on(std::move(one)); }, event);
    busy_ = !events->empty() || lapsed_;
    if (running_.empty()) lapsed_ = false;
    set_times();  // what follows may wait for the list's lock
    return success();
}

// The watch has killed what ran, but there may be lines that no shell has begun yet.
void Worker::note_lapse() {
    if (watch_.take_lapsed() && !lapsed_) lapse();
}

void Worker::lapse() {
    say_("gave no sign of life for too long: the lines that run are killed, since others may take them");
    lapsed_ = true;
    if (shell_.tasks() > 0) shell_.kill_all();
    if (!after_replay_) return;
    const auto waited = running_.extract(*std::exchange(after_replay_, std::nullopt));
    end_line(waited.mapped(), TryEnd::lost, 0);
}

void Worker::serve_and_report(Instant now) {
    if (const Status served = serve(now); !served) {
        if (served.error().code == ExitCode::interrupted) return;
        const shared_list::replica::SharedList& list = member_->list();
        const bool damaged = list.is_damaged() && served.error().code == ExitCode::bad_input;
        if (list.lock_failed() || (damaged && running_.empty())) {
            fatal_ = served.error();
            return;
        }
        const bool first = !problem_;  // a cut connection: most often the next one holds
        if (first) say_(served.error().message + "; trying again");
        problem_ = served.error();
        pause_ = first ? Duration{0} : std::clamp(pause_ * 2, least_pause, most_pause);
        try_at_ = instant_now() + pause_;
    } else if (std::exchange(problem_, std::nullopt)) {
        say_("connected again: " + member_->name());
        pause_ = Duration{0};
    }
}

Status Worker::serve(Instant now) {
    if (!member_->joined()) {
        auto joined = join(now);
        if (!joined && joined.error().code != ExitCode::unreachable) fatal_ = joined.error();
        if (!joined || !member_->joined()) return joined;
    }
    const bool looks = look_at_ && *look_at_ <= now;
    peek(now);
    if (problem_) {
        if (auto fresh = member_->list().refresh(); !fresh) return fresh;
    }
    // The machine slept: the watch counts waking time.
    if (!running_.empty() && !lapsed_ && member_->lease().has_lapsed()) lapse();
    if (auto kept = member_->keep(now, looks); !kept) return kept;
    give_up_lines();
    set_times();
    if (auto taken = take_lines(now); !taken) return taken;
    if (!running_.empty() || environment_ || member_->lines().has_ends()) return success();
    if (leaves_)
        exit_code_ = leaves_;
    else if (move_)
        move_now(now);
    return success();
}

// Somebody has released them, as it may happen to a worker that was cut off or stopped.
void Worker::give_up_lines() {
    for (auto& [key, line] : running_) {
        if (line.given_up || !member_->lines().is_taken_away(line.number, line.begun, line.line)) continue;
        line.given_up = true;
        shell_.end_now(key);
        say_("line " + std::to_string(line.number) + " is killed here, since another worker may run it now");
    }
}

Status Worker::join(Instant now) {
    if (join_at_ && *join_at_ > now) return success();
    join_at_.reset();
    if (auto joined = member_->join(); !joined) return joined;
    member_->list().move_to(place_, member_->id());
    shell_.export_variables(
        {{"WORKERID", std::to_string(member_->id())}, {"TASKFILE", member_->place().file}});
    return success();
}

Status Worker::take_lines(Instant now) {
    for (;;) {
        const auto begun = take_line(now);
        if (!begun) return begun.error();
        if (!*begun) return success();
        // Lines in the background begin one after the other.
        if (auto events = take_shell_events(); !events) {
            fatal_ = events.error();
            return success();
        }
    }
}

// Records ends, and begins a line in the same change. False: none was begun.
Result<bool> Worker::take_line(Instant now) {
    shared_list::replica::LineTaker& lines = member_->lines();
    const bool recorded = lines.has_ends();
    const bool may_begin = has_room() && (!look_at_ || *look_at_ <= now || recorded);
    if (!may_begin && !recorded) return false;
    seen_ = member_->state();
    const auto next = lines.step(may_begin);
    if (!next) return next.error();
    look_at_.reset();
    const bool is_task = *next && !(**next).environment;
    if (member_->lease().has_lapsed() && (is_task || !*next)) {
        // The change has waited for long: others may have found us lost, and have taken the line.
        if (is_task) {
            const shared_list::text::MarkedLine& line = member_->list().list().line((**next).number);
            lines.add_end(
                {(**next).number, member_->id(), line.tries.back().begun, {}, TryEnd::lost, 0, line.command});
        }
        if (auto kept = member_->keep(instant_now(), false); !kept) return kept.error();
        return take_line(now);
    }
    if (*next) {
        begin(**next);
        return true;
    }
    if (!may_begin) return false;
    // What has ended may wait again. And the step may have told of an earlier decision, whose answer was
    // lost.
    if (recorded || can_choose()) return take_line(now);
    on_nothing_to_take(now);
    return false;
}

bool Worker::has_room() const {
    return !terminal_.is_broken() && !move_ && !leaves_ && !lapsed_ && !environment_ && !after_replay_ &&
           running_.size() < options_.jobs && shell_.ready();
}

bool Worker::can_choose() {
    const shared_list::replica::SharedList& shared = member_->list();
    const shared_list::text::WorkerId id = member_->id();
    return shared_list::text::choose(shared.list(), id, shared.place(id)).has_value();
}

void Worker::begin(const Choice& choice) {
    shared_list::replica::SharedList& shared = member_->list();
    const auto run_environment = [&](std::uint64_t number) {
        const std::string& line = shared.list().line(number).command;
        environment_ = number;
        terminal_.line_begins(member_->id(), directory_, line);
        shell_.begin_environment(line);
    };
    waits_for_.clear();
    if (choice.environment) return run_environment(choice.number);
    const shared_list::text::MarkedLine& line = shared.list().line(choice.number);
    ++lines_here_;
    const TaskKey key = ++keys_;
    running_[key] = {choice.number, line.tries.back().begun, line.command, {}, options_.retries};
    if (choice.replay == 0) return begin_task(key);
    after_replay_ = key;
    run_environment(choice.replay);
}

void Worker::begin_task(TaskKey key) {
    Running& line = running_.at(key);
    line.directory = directory_;
    // Lines that run side by side are shown when they have ended, with their output.
    if (options_.jobs == 1) terminal_.line_begins(member_->id(), directory_, line.line);
    shell_.begin_task(key, line.line);
}

void Worker::on(EnvironmentLineEnded event) {
    const std::uint64_t number = std::exchange(environment_, std::nullopt).value_or(0);
    directory_ = event.answer.directory;
    if (const int code = event.answer.exit_code; code != 0) {
        terminal_.line_ended(member_->id(), number, "#error" + std::to_string(code));
        if (!std::exchange(said_failing_, true) && !terminal_.is_broken())
            say_("line " + std::to_string(number) + " (#!) failed with " + std::to_string(code) +
                 "; lines below it run all the same");
    }
    if (after_replay_) return begin_task(*std::exchange(after_replay_, std::nullopt));
    plan_move(event.answer);
}

void Worker::on(ShellLeft event) {
    const std::uint64_t number = std::exchange(environment_, std::nullopt).value_or(0);
    leaves_ = event.exit_code;
    if (must_stop()) return;
    say_("line " + std::to_string(number) + " has ended this worker with exit code " +
         std::to_string(event.exit_code));
    if (!after_replay_) return;
    const auto waited = running_.extract(*std::exchange(after_replay_, std::nullopt));
    end_line(waited.mapped(), TryEnd::lost, 0);
}

void Worker::on(TaskEnded event) {
    const auto found = running_.find(event.key);
    if (found == running_.end()) return;
    Running line = found->second;
    if (event.output.valid()) {
        terminal_.line_begins(member_->id(), line.directory, line.line);
        terminal_.output(event.output.get());
    }
    running_.erase(found);
    if (line.given_up || is_lost(event)) return end_line(line, TryEnd::lost, 0);
    if (event.timed_out)
        say_("line " + std::to_string(line.number) + " ran longer than " +
             format_duration(*options_.timeout));
    if (tries_again(line, event)) return;
    end_line(line, event.exit_code == 0 ? TryEnd::ok : TryEnd::error, event.exit_code);
}

bool Worker::tries_again(Running& line, const TaskEnded& event) {
    if (event.exit_code == 0 || line.retries == 0 || leaves_ || lapsed_) return false;
    --line.retries;
    terminal_.line_ended(member_->id(), line.number,
                         "#error" + std::to_string(event.exit_code) + ", tried again");
    running_[++keys_] = line;
    begin_task(keys_);
    return true;
}

// Whether we have killed it, or whoever stops us.
bool Worker::is_lost(const TaskEnded& event) const {
    if (lapsed_) return event.exit_code == 128 + SIGKILL;
    // It may have failed for that reason, by SIGPIPE or with an exit code of its own.
    if (event.exit_code != 0 && terminal_.is_broken()) return true;
    if (event.exit_code <= 128) return false;
    if (watch_.stopped()) return true;
    return std::ranges::find(stop_codes, event.exit_code) != stop_codes.end() &&
           watch_.stopped_within(signals_together);
}

void Worker::end_line(const Running& line, TryEnd end, int exit_code) {
    const std::string stamp = member_->list().stamp();
    member_->lines().add_end({line.number, member_->id(), line.begun, stamp, end, exit_code, line.line});
    const std::string result = end == TryEnd::ok      ? "#ok"
                               : end == TryEnd::error ? "#error" + std::to_string(exit_code)
                                                      : "#lost";
    terminal_.line_ended(member_->id(), line.number, "# (" + line.begun + " ... " + stamp + ") " + result);
}

void Worker::on_nothing_to_take(Instant now) {
    const Instant looked = instant_now();
    look_at_ = now + options_.poll;
    earliest(look_at_, member_->next_look_at_lost());
    if (member_->list().has_unfinished_line()) earliest(look_at_, member_->list().unsettled());
    peek_at_ = looked + std::max(between_peeks, looks_of_time * (looked - now));
    const shared_list::text::Waiting why =
        shared_list::text::why_waiting(member_->list().list(), member_->id());
    const bool more_may_come =
        why.may_become_free != 0 || member_->next_look_at_lost() || member_->list().has_unfinished_line();
    if (options_.once && running_.empty() && !more_may_come) {
        leaves_ = say_what_is_left(why);
    } else if (running_.empty() && terminal_.has_reader()) {
        const std::string text = waiting_text(why, member_->list().list(), member_->id());
        if (std::exchange(waits_for_, text) != text) say_(text);
    }
}

// Returns the exit code.
int Worker::say_what_is_left(const shared_list::text::Waiting& why) {
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

// What others do may let a line begin that waits for theirs.
void Worker::peek(Instant now) {
    if (!look_at_ || !peek_at_ || *peek_at_ > now) return;
    const auto state = member_->state();
    peek_at_ = state ? std::optional(now + between_peeks) : std::nullopt;
    if (state != seen_) look_at_ = now;
}

void Worker::plan_move(const LineAnswer& answer) {
    auto jump = shared_list::replica::jump_of({answer.newtask, answer.newid, answer.jumpto}, member_->id(),
                                              member_->place());
    if (!jump) return say_("stays in " + member_->name() + ": " + jump.error().message);
    move_ = std::move(*jump);
}

void Worker::move_now(Instant now) {
    const shared_list::replica::Jump move = *std::exchange(move_, std::nullopt);
    place_ = move.same_list ? member_->list().place(member_->id()) : 0;
    // The sign of a worker that is gone is removed by others.
    if (auto left = member_->leave(); !left) say_(left.error().message);
    Joining joins = joining(options_);
    joins.place = move.place;
    joins.id = move.id;
    member_ = std::make_unique<Membership>(std::move(joins), say_, [this] { set_times(); });
    heed_signals();
    if (!move.same_list) shell_.forget_lines();
    // Lists that lead to each other, and have no lines to run, are looked at once in a while.
    idle_moves_ = lines_here_ == 0 ? idle_moves_ + 1 : 0;
    if (idle_moves_ > most_idle_moves) join_at_ = now + options_.poll;
    lines_here_ = 0;
    look_at_.reset();
    waits_for_.clear();
    busy_ = true;
}

void Worker::set_times() {
    const bool may_lapse = !running_.empty() && !lapsed_ && member_->joined();
    watch_.set_times(may_lapse ? member_->lease().lapses() : std::nullopt, shell_.next());
}

std::optional<Instant> Worker::next() const {
    std::optional<Instant> next = shell_.next();
    if (problem_) {
        earliest(next, try_at_);
    } else if (!member_->joined()) {
        earliest(next, join_at_.value_or(instant_now()));
    } else {
        earliest(next, member_->next(instant_now()));
        // Lines in the background begin one after the other; that one has begun is no event.
        if (has_room()) earliest(next, look_at_.value_or(instant_now()));
        if (has_room() && look_at_ && peek_at_) earliest(next, *peek_at_);
    }
    return next;
}

void Worker::wait() {
    std::vector<pollfd> ready{{watch_.descriptor(), POLLIN, 0}, {terminal_.descriptor(), 0, 0}};
    shell_.add_descriptors(ready);
    int limit = -1;
    if (const auto until = next()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - instant_now());
        limit = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }
    ::poll(ready.data(), ready.size(), limit);
}

// Also while other workers are faster in changing the list, again and again.
void Worker::heed_signals() {
    member_->list().between_tries([this](Duration pause) { return between_tries(pause); });
}

Status Worker::between_tries(Duration pause) {
    pollfd signal{ends_ ? -1 : watch_.descriptor(), POLLIN, 0};
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(pause).count();
    if (pause > Duration{0}) ::poll(&signal, 1, static_cast<int>(limit));
    if (ends_ || !must_stop()) return success();
    return Error{ExitCode::interrupted, "interrupted"};
}

int Worker::interrupt() {
    const std::string why = watch_.stopped() ? "interrupted" : "nobody reads the output any more";
    say_(why + (running_.empty() ? "" : ": the lines that run are killed, and wait again"));
    shell_.kill_all();
    for (const auto& [key, line] : running_) end_line(line, TryEnd::lost, 0);
    running_.clear();
    record_and_leave();
    return to_int(ExitCode::interrupted);
}

void Worker::record_and_leave() {
    if (!member_->joined()) return;
    ends_ = true;
    Status recorded = success();
    for (int tries = 0; tries < 3 && member_->lines().has_ends(); ++tries)
        recorded = member_->lines().record_ends();
    if (recorded) recorded = member_->leave();
    if (!recorded) say_(recorded.error().message + "; lines that ran wait again when the lease is over");
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
std::set<std::uint64_t> waiting_for_others(const shared_list::text::Document& list,
                                           shared_list::text::WorkerId worker,
                                           const std::map<std::uint64_t, shared_list::text::Block>& blocks) {
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
