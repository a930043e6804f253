#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <vector>

#include "api/lines.h"
#include "api/session_parts.h"
#include "api/setup_error.h"
#include "base/background.h"
#include "base/find_program.h"
#include "base/signals.h"
#include "functions/pool/job_executor.h"
#include "manager/run/job_end.h"
#include "manager/run/mpi_node_share.h"
#include "manager/run/mpi_rank_session.h"
#include "manager/run/own_worker.h"
#include "manager/run/rank_loop.h"
#include "node/launcher/zygote.h"
#include "ranks/mpi/guard.h"
#include "ranks/mpi/launch_environment.h"
#include "ranks/mpi/mpi_session.h"
#include "ranks/mpi/watchdog.h"
#include "ranks/tickets/sealed_batch.h"
#include "work_queue/error.h"
#include "work_queue/functions.h"
#include "work_queue/job_executor.h"
#include "work_queue/mpi.h"

namespace wq {

namespace {

// A second session would wait for ranks that construct none.
class OnlyOne {
  public:
    void take() {
        if (taken().exchange(true))
            throw Failure{{ExitCode::unreachable,
                           "a process can have only one MpiSession, and this one already had it"}};
        ours_ = true;
    }
    OnlyOne() = default;
    ~OnlyOne() {
        if (ours_) taken() = false;
    }
    OnlyOne(const OnlyOne&) = delete;
    OnlyOne& operator=(const OnlyOne&) = delete;

  private:
    static std::atomic<bool>& taken() {
        static std::atomic<bool> is_taken{false};
        return is_taken;
    }
    bool ours_ = false;
};

// The rest of the session when the process exits. It is never destroyed, because MPI's destructors may wait
// for lost ranks.
struct LastSteps {
    OnlyOne only;
    ranks::mpi::GuardLink guard;
    manager::run::MpiRankSession session{ranks::mpi::read_launch_environment(), guard};
};

void waits_for_ranks() {
    api::print_line("has waited a minute at the end of its MpiSession for the other ranks to reach it");
}

// Keeps it until the process exits, without destroying it.
void keep(std::shared_ptr<void> what) {
    static auto& kept = *new std::vector<std::shared_ptr<void>>;
    kept.push_back(std::move(what));
}

// Finalizes at exit, when the code is known: if a peer dies while MPI_Finalize waits for it, main()'s exit
// code must not change.
void leave(int code, void* given) {
    std::cout.flush();
    static_cast<LastSteps*>(given)->session.end(code);
}

struct RankParts : MpiSession::Parts {
    std::unique_ptr<LastSteps> last = std::make_unique<LastSteps>();
    std::optional<Signals> signals;  // of working ranks; on rank 0 they belong to the program
    sigset_t blocked_signals{};      // those that had not been before
    node::process::FunctionTable functions_of_calls;
    manager::run::StopPolicy stop;
    std::unique_ptr<ranks::mpi::CounterWindow> forced_window;
    std::optional<ranks::mpi::WatchedCounters> watched_counters;

    manager::run::MpiRankSession& session() { return last->session; }
    ranks::mpi::MpiSession& mpi() { return session().mpi(); }
    const ranks::mpi::LaunchEnvironment& environment() { return session().environment(); }

    std::vector<std::string> gather(const std::string& mine) override {
        return mpi().gather_world(mine).or_throw();
    }
    manager::run::NodeTickets open_node_tickets() override {
        return manager::run::open_node_tickets(mpi(), {1, 0}).or_throw();
    }
    ranks::tickets::Counters* open_counters(std::string& why) override;
    void give_back_signals() override;
    void begins_to_manage() override { session().ready(); }
    std::unique_ptr<ranks::mpi::Watchdog> before_collectives() override {
        return session().before_collectives(api::print_line);
    }
    void after_collectives() override { session().ready(); }

    void start(const Functions& given, const MpiOptions& options);
    void begin(const node::process::FunctionTable& table);
    void block_signals();
    void attach(const MpiOptions& options);
    void join(const MpiOptions& options);
    void check_threads();
    void open();
    [[noreturn]] void fail(const Error& error);
    void end_own();
    void end_attached();
    int serve();
};

void RankParts::start(const Functions& given, const MpiOptions& options) {
    last->only.take();
    const std::string shell = find_shell(options.shell).or_throw();
    functions_of_calls = api::function_table(given);
    const bool attaches = ranks::mpi::MpiSession::started_before();
    attaches ? attach(options) : begin(functions_of_calls);
    using manager::run::EndFrom;
    node::machine::BatchEnd batch_end =
        manager::run::ask_for_end(environment().rank == 0 ? EndFrom::server : EndFrom::environment);
    if (!attaches) session().start();
    join(options);
    const manager::run::NodeShare share = manager::run::share_node(mpi(), ".", works).or_throw();
    if (rank == 0) remarks = share.remarks;
    if (rank == 0 && !session().tickets().not_shared.empty())
        remarks.push_back("ranks get tasks by message: " + session().tickets().not_shared);
    worker = manager::run::rank_worker({rank, shell, "", false, manager::run::known_end(batch_end)}, share);
    worker.forks_calls = !attaches;
    if (rank == 0 && works) open();
    session().ready();
    session().awaited();
}

// Forks and signals come before MPI starts.
void RankParts::begin(const node::process::FunctionTable& table) {
    ranks::mpi::GuardOptions guard;
    guard.say = api::print_line;
    // The rank, not the guard, writes what the program has buffered for its streams.
    if (const auto code = ranks::mpi::fork_guard(environment(), last->guard, guard)) ::_exit(*code);
    launcher = node::launcher::Launcher::start(&table).or_throw();
    if (environment().rank == 0) return;
    block_signals();
}

void RankParts::block_signals() {
    sigset_t before;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    signals.emplace(Signals::block().or_throw());
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked_signals);
    for (int number = 1; number < NSIG; ++number)
        if (sigismember(&before, number) == 1) sigdelset(&blocked_signals, number);
}

void RankParts::give_back_signals() {
    if (!signals) return;
    signals.reset();
    ::pthread_sigmask(SIG_UNBLOCK, &blocked_signals, nullptr);
}

// MPI has already started, with threads and memory that a fork would copy. Its threads have signals
// unblocked, so signals cannot be read from a descriptor: the program handles them.
void RankParts::attach(const MpiOptions& options) {
    if (ranks::mpi::MpiSession::over_before())
        throw Failure{{ExitCode::unreachable,
                       "MPI is over: make the MpiSession before MPI_Finalize, or before MPI_Init"}};
    launcher = node::launcher::Launcher::start_program(
                   node::launcher::find_launcher_program(options.launcher).or_throw())
                   .or_throw();
    session().attach();
}

void RankParts::join(const MpiOptions& options) {
    rank = mpi().rank();
    size = mpi().size();
    node_size = mpi().node_size();
    beside_rank_0 = mpi().node_mates().front() == 0;
    threads_may_call = mpi().threads_may_call();
    works = !(options.manager_only && rank == 0);
    stop.killed_after_signal = environment().kills_after_signal;
    check_threads();
    session().open_ranks();
    ranks = session().ranks();
    if (!options.tickets) return;
    session().open_tickets(manager::run::NodeRefill::measured);
    tickets = session().tickets().pool.get();
    counters = session().tickets().counter.get();
}

ranks::tickets::Counters* RankParts::open_counters(std::string& why) {
    if (watched_counters) return &*watched_counters;
    if (counters != nullptr) return &watched_counters.emplace(*counters);
    if (node_size == size) {
        why = "all ranks are on one node, and share them in memory";
        return nullptr;
    }
    auto opened = ranks::mpi::CounterWindow::open(mpi(), ranks::tickets::BatchCounter::counters);
    if (!opened) {
        why = opened.error().message;
        return nullptr;
    }
    forced_window = std::move(*opened);
    return &watched_counters.emplace(*forced_window);
}

void RankParts::check_threads() {
    if (mpi().serialized() || size == 1) return;
    if (mpi().attached())
        throw Failure{
            {ExitCode::unreachable,
             "MPI was initialised for one thread, but the manager calls it from its own thread: use "
             "MPI_Init_thread with MPI_THREAD_SERIALIZED, or make the MpiSession before MPI_Init"}};
    throw Failure{
        {ExitCode::unreachable,
         "this MPI allows calls from one thread only, but the manager calls it from its own thread; "
         "MPI_THREAD_SERIALIZED is needed"}};
}

// Starts threads, after all forks.
void RankParts::open() {
    launcher->open(worker.launcher).or_throw();
    functions = std::make_unique<node::launcher::FunctionRunner>(functions_of_calls,
                                                                 worker.launcher.slice.cores.size());
}

int RankParts::serve() {
    open();
    session().ready();
    // The program has shared slices before. MPI's threads have had the signals blocked since they began.
    if (!mpi().attached() && rank != 0 && !signals) block_signals();
    if (!mpi().attached()) ::signal(SIGPIPE, SIG_IGN);
    BackgroundThread files;
    const manager::run::RankWorkEnd end =
        session().work({worker, *launcher, signals ? &*signals : nullptr, stop, functions.get(), &files});
    // A lost manager's tasks are soon requeued, so kill ours before waiting for anything.
    launcher->kill_all();
    static_cast<void>(launcher->next());
    lost_a_rank = lost_a_rank || end.ranks_lost;
    return end.exit_code;
}

// Other ranks may wait for this one: it does not finalize, and the guard ends the job when it exits.
void RankParts::fail(const Error& error) {
    if (session().has_begun() && !mpi().attached()) keep(std::move(last));
    throw SetupError(error.message, to_int(error.code));
}

void RankParts::end_own() {
    if (!mpi().has_mpi()) return;
    LastSteps* steps = last.get();
    keep(std::move(last));
    ::on_exit(leave, steps);
}

// The program goes on using MPI. If a rank missed another, messages may still be in flight, so everything is
// kept until the process ends.
void RankParts::end_attached() {
    if (session().ranks() != nullptr &&
        !manager::run::settle(*session().ranks(), !mpi().must_exit(), waits_for_ranks)) {
        keep(std::move(last));
        return;
    }
    session().detach();
}

RankParts& whole(MpiSession::Parts& parts) {
    return static_cast<RankParts&>(parts);
}

}  // namespace

MpiSession::MpiSession(MpiOptions options) : MpiSession(Functions(), std::move(options)) {}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the other constructor moves its options here
MpiSession::MpiSession(const Functions& functions, MpiOptions options) {
    auto parts = std::make_unique<RankParts>();
    try {
        parts->start(functions, options);
    } catch (const Failure& failure) {
        parts->fail(failure.error);
    } catch (const std::exception& out_of_something) {
        parts->fail({ExitCode::unreachable, out_of_something.what()});
    }
    parts_ = std::move(parts);
}

MpiSession::~MpiSession() {
    RankParts& parts = whole(*parts_);
    // A rank 0 without a manager has not dismissed the others yet.
    if (parts.rank == 0 && parts.ranks != nullptr && !parts.has_manager)
        manager::run::dismiss_ranks(*parts.ranks, static_cast<std::uint32_t>(parts.size),
                                    "the program has ended");
    parts.launcher->close(manager::run::rank_close_limit);
    // A function that does not return would run while its program is being destroyed.
    if (parts.functions && !parts.functions->end(manager::run::rank_close_limit)) {
        parts.lost_a_rank = true;
        keep(std::move(parts.functions));
    }
    if (parts.lost_a_rank) parts.mpi().note_lost_rank();
    parts.mpi().attached() ? parts.end_attached() : parts.end_own();
}

int MpiSession::rank() const {
    return parts_->rank;
}
int MpiSession::size() const {
    return parts_->size;
}

void MpiSession::abort_job(int exit_code) {
    whole(*parts_).mpi().abort_job(exit_code);
}

int MpiSession::serve() {
    if (parts_->rank == 0) return 0;
    try {
        return whole(*parts_).serve();
    } catch (const Failure& failure) {
        api::print_line(failure.error.message);
        parts_->lost_a_rank = true;  // the manager learns of it like of any lost rank
        return to_int(failure.error.code);
    }
}

namespace detail {

// The zygote of an executor is forked by the launcher's, which is older than MPI.
JobExecutorCore::JobExecutorCore(MpiSession& session, JobFunction function, int nb_workers,
                                 const JobExecutorOptions& options) {
    functions::pool::check_options(nb_workers, options);
    functions::pool::ZygoteLink zygote;
    if (nb_workers > 0)
        zygote = api::checked(functions::pool::ask_for_zygote([&](int socket) {
            return session.parts().launcher->fork_child(socket, functions::pool::zygote_main);
        }));
    impl_ = std::make_unique<Impl>(function, nb_workers, options, std::move(zygote));
}

}  // namespace detail

}  // namespace wq
