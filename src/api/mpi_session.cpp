#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

#include "api/function_table.h"
#include "api/session_parts.h"
#include "app/background_thread.h"
#include "app/mpi_node_share.h"
#include "app/mpi_settle.h"
#include "app/mpi_tickets.h"
#include "app/rank_loop.h"
#include "app/rank_worker.h"
#include "app/signals.h"
#include "host/launcher_program.h"
#include "transport/guard.h"
#include "transport/launch_environment.h"
#include "transport/mpi_session.h"
#include "transport/mpi_transport.h"
#include "work_queue/error.h"
#include "work_queue/functions.h"
#include "work_queue/mpi.h"

namespace wq {

namespace {

constexpr Duration close_limit = std::chrono::milliseconds(500);

void say(const std::string& text) {
    std::fprintf(stderr, "work_queue: %s\n", text.c_str());
}

// A second session would wait for ranks that make none.
class OnlyOne {
  public:
    void take() {
        if (taken().exchange(true))
            throw Failure{{ExitCode::unreachable,
                           "a process has one MpiSession, and this one has, or had, its own already"}};
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

// What is left of the session when the process exits. It is never destroyed: destructors of MPI may wait for
// what is lost.
struct LastSteps {
    OnlyOne only;
    std::unique_ptr<transport::MpiSession> session;
    std::unique_ptr<transport::MpiTransport> ranks;
    app::RankTickets tickets;
    transport::GuardLink guard;
    bool forgets_code = false;  // the launcher, after a signal: the guard tells it, before MPI_Finalize
};

void waits_for_ranks() {
    say("waits at the end of its MpiSession, as it has for a minute, until all ranks have come there");
}

// To the end of the process, and destroyed by nobody.
void keep(std::shared_ptr<void> what) {
    static auto& kept = *new std::vector<std::shared_ptr<void>>;
    kept.push_back(std::move(what));
}

void leave_at_once(int code) {
    std::cout.flush();
    std::fflush(nullptr);
    ::_exit(code);
}

// The code is not known before: a peer that dies while MPI_Finalize waits for it must not change what main()
// returns.
void leave(int code, void* given) {
    LastSteps& steps = *static_cast<LastSteps*>(given);
    const bool told = code == to_int(ExitCode::interrupted) && steps.forgets_code;
    if (steps.session->must_exit() || told) leave_at_once(code);
    std::cout.flush();
    std::fflush(nullptr);
    const Duration limit = steps.session->rank() == 0 ? std::chrono::seconds(2) : std::chrono::minutes(1);
    steps.ranks.reset();  // as in work_queue_run: MPICH warns of receives that are still posted
    if (steps.session->finish(code, limit)) steps.guard.mpi_finalized();
}

struct RankParts : MpiSession::Parts {
    transport::LaunchEnvironment environment = transport::read_launch_environment();
    std::unique_ptr<LastSteps> last = std::make_unique<LastSteps>();
    std::optional<app::Signals> signals;  // of ranks that work: those of rank 0 are the program's
    host::FunctionTable functions_of_calls;
    app::StopPolicy stop;

    transport::MpiSession& mpi() { return *last->session; }

    void start(const Functions& given, const MpiOptions& options);
    void begin(const host::FunctionTable& table);
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
    const std::string shell = app::find_shell(options.shell).or_throw();
    functions_of_calls = api::function_table(given);
    const bool attaches = transport::MpiSession::started_before();
    attaches ? attach(options) : begin(functions_of_calls);
    host::BatchEnd batch_end = app::ask_for_end(environment.rank == 0);
    if (!attaches) {
        if (environment.launched) last->guard.mpi_starting();
        last->session = transport::MpiSession::start(environment).or_throw();
    }
    join(options);
    const app::NodeShare share = app::share_node(mpi(), ".", works).or_throw();
    if (rank == 0) remarks = share.remarks;
    worker = app::rank_worker({rank, shell, "", false, app::known_end(batch_end)}, share);
    worker.forks_calls = !attaches;
    if (rank == 0 && works) open();
    if (environment.launched) last->guard.mpi_ready(rank);
}

// All that forks, and the signals, before MPI is there.
void RankParts::begin(const host::FunctionTable& table) {
    transport::GuardOptions guard;
    guard.tell = say;
    // What the program has buffered for its streams is the rank's to write.
    if (const auto code = transport::fork_guard(environment, last->guard, guard)) ::_exit(*code);
    launcher = host::Launcher::start(&table).or_throw();
    if (environment.rank == 0) return;
    signals.emplace(app::Signals::block().or_throw());
    ::signal(SIGPIPE, SIG_IGN);
}

// MPI is there, with threads and memory that a fork would copy. Threads that have signals unblocked are there
// too, so that those are no descriptor's: they stay the program's.
void RankParts::attach(const MpiOptions& options) {
    if (transport::MpiSession::over_before())
        throw Failure{{ExitCode::unreachable,
                       "MPI is over: make the MpiSession before MPI_Finalize, or before MPI_Init"}};
    launcher =
        host::Launcher::start_program(host::find_launcher_program(options.launcher).or_throw()).or_throw();
    last->session = transport::MpiSession::attach(environment).or_throw();
}

void RankParts::join(const MpiOptions& options) {
    rank = mpi().rank();
    size = mpi().size();
    works = !(options.manager_only && rank == 0);
    last->forgets_code = environment.forgets_code_after_signal && rank == 0;
    stop.killed_after_signal = environment.kills_after_signal;
    check_threads();
    if (size > 1) {
        last->ranks = transport::MpiTransport::open(mpi()).or_throw();
        ranks = last->ranks.get();
    }
    if (!options.tickets) return;
    last->tickets = app::open_tickets(mpi(), app::NodeRefill::measured).or_throw();
    tickets = last->tickets.pool.get();
    counters = last->tickets.counter.get();
}

void RankParts::check_threads() {
    if (mpi().serialized() || size == 1) return;
    if (mpi().attached())
        throw Failure{{ExitCode::unreachable,
                       "MPI was initialised for one thread, and the manager's calls are made by its own: use "
                       "MPI_Init_thread with MPI_THREAD_SERIALIZED, or make the MpiSession before MPI_Init"}};
    throw Failure{{ExitCode::unreachable,
                   "this MPI grants its calls to one thread only, and the manager's are made by its own; "
                   "MPI_THREAD_SERIALIZED is needed"}};
}

// Threads begin here, after all forks.
void RankParts::open() {
    launcher->open(worker.launcher).or_throw();
    functions =
        std::make_unique<host::FunctionRunner>(functions_of_calls, worker.launcher.slice.cores.size());
}

int RankParts::serve() {
    open();
    app::WorkerOptions options = worker;
    options.hello.takes_tickets = tickets != nullptr;
    // Beside rank 0 the counters would be taken under a lock in shared memory, which dies with its holder.
    const bool beside_manager = mpi().node_mates().front() == 0;
    std::optional<app::TicketTaker> taker;
    if (tickets != nullptr)
        taker.emplace(*tickets, options.hello.offers, beside_manager ? nullptr : counters);
    const transport::PeerId manager(0);
    app::BackgroundThread files;
    app::Worker serving(std::move(options), *ranks, manager, *launcher, taker ? &*taker : nullptr,
                        functions.get(), &files);
    app::Signals* const ours = signals ? &*signals : nullptr;
    app::WorkerLoop({serving, *ranks, manager, *launcher, ours, stop, functions.get(), &files}).run();
    // A manager that is lost gives its tasks to others soon: ours end before anything else is waited for.
    launcher->kill_all();
    static_cast<void>(launcher->next());
    lost_a_rank = lost_a_rank || serving.ranks_lost();
    return serving.manager_lost() ? to_int(ExitCode::interrupted) : 0;
}

// Others may wait for this rank: it does not finalize, and the guard ends the job when it exits.
void RankParts::fail(const Error& error) {
    if (last->session && !last->session->attached()) keep(std::move(last));
    throw SetupError(error.message, to_int(error.code));
}

void RankParts::end_own() {
    if (mpi().has_mpi()) ::on_exit(leave, last.release());
}

// The program goes on with MPI. Where a rank missed another, nobody knows what is still on its way, and all
// is left to the end of the process.
void RankParts::end_attached() {
    if (last->ranks && !app::settle(*last->ranks, !mpi().must_exit(), waits_for_ranks)) {
        keep(std::move(last));
        return;
    }
    last->tickets = {};
    last->ranks.reset();
    mpi().detach();
}

RankParts& whole(MpiSession::Parts& parts) {
    return static_cast<RankParts&>(parts);
}

}  // namespace

MpiSession::MpiSession(MpiOptions options) : MpiSession(Functions(), std::move(options)) {}

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
    // A rank 0 that had no manager has told the others nothing yet.
    if (parts.rank == 0 && parts.ranks != nullptr && !parts.has_manager) {
        const std::string frame = wire::encode(wire::Dismiss{"the program has ended", false});
        for (int rank = 1; rank < parts.size; ++rank)
            parts.ranks->send(transport::PeerId(static_cast<std::uint32_t>(rank)), frame);
        app::let_frames_leave(*parts.ranks);
    }
    parts.launcher->close(close_limit);
    // A function that does not return would be called while its program is taken apart.
    if (parts.functions && !parts.functions->end(close_limit)) {
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

int MpiSession::serve() {
    if (parts_->rank == 0) return 0;
    try {
        return whole(*parts_).serve();
    } catch (const Failure& failure) {
        say(failure.error.message);
        parts_->lost_a_rank = true;  // the manager learns of it as of any rank that is gone
        return to_int(failure.error.code);
    }
}

}  // namespace wq
