#include "node/launcher/launcher_process.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "node/process/process_tree.h"
#include "node/usage/kills.h"

namespace wq::node::launcher {

namespace {

// Whether some more threads could be the last processes that the user may have.
bool processes_are_short() {
    constexpr rlim_t plenty = 2048;
    rlimit limit{};
    return getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur < plenty;
}

// Kernels before 4.7 refuse these options of waitid(), and so may a container's filter.
bool can_wait_for_own_children() {
    siginfo_t info{};
    constexpr int options = WEXITED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD;
    return waitid(P_ALL, 0, &info, options) == 0 || errno == ECHILD;
}

// One for each core that tasks are bound to. A single core needs none: the loop is woken there.
std::vector<machine::CpuMask> starters_for(const machine::NodeSlice& slice) {
    std::vector<machine::CpuMask> masks;
    if (slice.cores.size() < 2 || !slice.of_this_machine || slice.bind != machine::Binding::core ||
        processes_are_short() || !can_wait_for_own_children())
        return masks;
    // By default each thread gets a heap with 64 MiB of address space, although only one works at a time. Not
    // otherwise, because forked calls inherit it.
    rlimit memory{};
    if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
    masks.resize(slice.cores.size());
    for (std::size_t core = 0; core < masks.size(); ++core) masks[core].add(slice.cores[core]);
    return masks;
}

// For epoll_wait().
int milliseconds_until(Instant until, Instant now) {
    if (until == Instant::max()) return -1;
    if (until <= now) return 0;
    constexpr std::int64_t longest = 60000;
    // Rounds up to a whole millisecond: waking too early would only mean waiting again.
    return static_cast<int>(std::min((until - now).count() / 1000000 + 1, longest));
}

// How long the loop ignores SIGCHLD after one. Most children are those of starters, which reap them, and the
// loop would wake for nothing.
constexpr Duration signals_rest = std::chrono::milliseconds(10);

constexpr Duration between_looks = std::chrono::seconds(2);

}  // namespace

LauncherProcess::LauncherProcess(int rank, int lifeline, SharedPage& shared,
                                 const process::FunctionTable* functions, const LauncherOptions& options,
                                 char** inherited, MessageStream stream)
    : rank_(rank),
      home_(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)),
      starters_(starters_for(options.slice), *this),
      runner_(std::in_place, options, inherited, shared, functions, poller_, reports_, starters_),
      stream_(std::move(stream)),
      now_(instant_now()) {
    poller_.add(rank_, process::PollSource::rank, EPOLLIN);
    poller_.add(lifeline, process::PollSource::zygote, EPOLLIN);
    poller_.add(child_ends_.descriptor(), process::PollSource::children, EPOLLIN | EPOLLONESHOT);
    poller_.add(starters_.descriptor(), process::PollSource::starters, EPOLLIN);
}

bool LauncherProcess::valid() const {
    return home_.valid() && child_ends_.valid() && poller_.valid() && starters_.descriptor() >= 0;
}

void LauncherProcess::run() {
    starters_.lock().lock();
    handle_messages();
    while (!over_) {
        runner_->start_tasks(now_, Starters::loop);
        watch_signals();
        report();
        wait();
        now_ = instant_now();
        if (std::exchange(children_ended_, false)) runner_->children_ended(now_);
        runner_->check(now_);
        look_for_rank();
    }
    process::end_all_children(process::kill_limit_ms);
    // The lock stays held, so no starter ever has a turn again.
    runner_.reset();
}

bool LauncherProcess::run_turn(Starters::Index starter, bool child_ended) {
    if (over_) return false;
    now_ = instant_now();
    if (child_ended) runner_->children_ended(now_);
    runner_->start_tasks(now_, starter);
    report();
    // Orphans that were killed are the loop's to reap: until then each sweep finds them again.
    if (runner_->take_killed_orphans() && signals_again_at_) signals_again_at_ = now_;
    if (over_ || next_wake(now_) < wakes_at_) starters_.ask_loop();
    return true;
}

void LauncherProcess::wait() {
    const Instant now = instant_now();
    wakes_at_ = next_wake(now);
    const int limit = milliseconds_until(wakes_at_, now);
    starters_.lock().unlock();
    poller_.wait(limit);
    starters_.lock().lock();
    poller_.visit_ready([this](process::PollSource source, std::uint32_t events, std::size_t number) {
        now_ = instant_now();
        serve_source(source, events, number);
    });
}

Instant LauncherProcess::next_wake(Instant now) const {
    Instant next = std::min(runner_->next_check(now), kept_until_);
    if (signals_again_at_) next = std::min(next, *signals_again_at_);
    return reports_.empty() ? next : std::min(next, reports_.due_at());
}

void LauncherProcess::watch_signals() {
    if (!signals_again_at_ || (now_ < *signals_again_at_ && !runner_->loop_runs_tasks())) return;
    signals_again_at_.reset();
    poller_.change(child_ends_.descriptor(), process::PollSource::children, EPOLLIN | EPOLLONESHOT);
}

void LauncherProcess::serve_source(process::PollSource source, std::uint32_t events, std::size_t number) {
    switch (source) {
        case process::PollSource::rank:
            if ((events & EPOLLOUT) != 0) flush();
            if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) receive();
            return;
        case process::PollSource::zygote:
            over_ = true;
            return;
        case process::PollSource::children:
            children_ended_ = child_ends_.take_signals();
            signals_again_at_ = now_ + signals_rest;
            return;
        case process::PollSource::starters:
            return starters_.take();
        default:
            runner_->ready(source, number, now_);
    }
}

void LauncherProcess::receive() {
    if (!stream_.receive(rank_)) over_ = true;
    handle_messages();
}

void LauncherProcess::handle_messages() {
    while (const auto message = stream_.next()) {
        auto command = decode_command(*message);
        if (command)
            take(*command);
        else
            over_ = true;
    }
}

void LauncherProcess::take(Command& command) {
    if (auto* order = std::get_if<process::OrderMessage>(&command))
        return runner_->enqueue(std::move(*order), now_);
    if (auto* line = std::get_if<EnvironmentLine>(&command)) return runner_->add_line(std::move(*line));
    if (auto* kill = std::get_if<KillMessage>(&command))
        return runner_->kill(kill->task, kill->attempt, now_);
    if (auto* recall = std::get_if<RecallMessage>(&command)) return runner_->recall(recall->most, now_);
    if (std::holds_alternative<KillAllMessage>(command)) return runner_->kill_all(now_);
    if (const auto* enter = std::get_if<EnterMessage>(&command)) return this->enter(enter->directory);
    if (const auto* keep = std::get_if<KeepMessage>(&command)) {
        kept_until_ = keep->until == Instant::max() ? keep->until : keep->until - between_looks;
        last_look_ = false;
        return;
    }
    over_ = true;
}

// If the rank is stopped, its manager may soon give its tasks to others. If this machine stood still, the
// rank has until the second look to say more.
void LauncherProcess::look_for_rank() {
    if (now_ < kept_until_) return;
    if (std::exchange(last_look_, true)) over_ = true;
    kept_until_ = now_ + between_looks;
}

void LauncherProcess::enter(const std::string& directory) {
    if (!directory.empty() && chdir(directory.c_str()) == 0) return;
    if (fchdir(home_.get()) != 0) over_ = true;
}

// Sends reports at once if the rank may have more work for us, else in batches.
void LauncherProcess::report() {
    if (reports_.empty() || !(runner_->wants_tasks() || reports_.due(now_))) return;
    const bool more = runner_->announce_starts(now_);
    flush();
    if (more) reports_.note_unreported(now_);
}

void LauncherProcess::flush() {
    if (!reports_.flush(rank_)) over_ = true;
    if (reports_.stuck() == waits_for_room_) return;
    waits_for_room_ = reports_.stuck();
    poller_.change(rank_, process::PollSource::rank, waits_for_room_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void launcher_main(int rank, int lifeline, SharedPage& shared, const process::FunctionTable* functions,
                   process::ScratchFolder scratch) {
    setsid();
    process::become_fork_server("wq_launcher");
    usage::offer_launcher_as_oom_victim();

    MessageStream stream;
    std::optional<std::string_view> first;
    while (!(first = stream.next())) {
        pollfd readable{rank, POLLIN, 0};
        poll(&readable, 1, -1);
        if (!stream.receive(rank)) break;
    }
    auto command = first ? decode_command(*first) : std::nullopt;
    if (command) {
        if (const auto* options = std::get_if<LauncherOptions>(&*command)) {
            if (!options->working_directory.empty() && chdir(options->working_directory.c_str()) != 0)
                _exit(1);
            LauncherOptions own = *options;
            own.scratch = scratch.path();
            if (own.work_in_scratch) {
                if (chdir(own.scratch.c_str()) != 0) _exit(1);
                own.environment.emplace_back(process::sandbox_variable, own.scratch);
            }
            // Not destroyed, as its threads run until the process ends.
            auto* const process =
                new LauncherProcess(rank, lifeline, shared, functions, own, environ, std::move(stream));
            if (!process->valid()) _exit(1);
            process->run();
        }
    }
    scratch.remove();
    _exit(0);
}

}  // namespace wq::node::launcher
