#include "cli/mpi_rank_main.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/dry_run.h"
#include "cli/manager_rank.h"
#include "machine/divide.h"
#include "mpi/mpi_transport.h"
#include "run/mpi_tickets.h"
#include "run/rank_loop.h"
#include "run/rank_worker.h"

namespace wq::cli {

namespace {

constexpr Duration launcher_close_limit = std::chrono::milliseconds(500);

// Used in "the same mpirun command".
std::string short_name(const std::string& launcher) {
    for (const char* known : {"mpirun", "srun"})
        if (launcher.starts_with(known)) return known;
    return "launcher";
}

worker::WorkerOptions worker_options(const RunOptions& options, int rank, const run::NodeShare& share,
                                     std::optional<Instant> leaves_at) {
    const auto shell = run::find_shell(options.shell);
    if (!shell) throw Failure{{shell.error().code, "--shell: " + shell.error().message}};
    auto worker = run::rank_worker({rank, *shell, options.index_variable, true, leaves_at}, share);
    machine::bind_as(worker.launcher.slice, options.bind, options.threads_per_core);
    return worker;
}

void dismiss(net::Transport& ranks, int size, const std::string& why) {
    const std::string frame = wire::encode(wire::Dismiss{why, false});
    for (int rank = 1; rank < size; ++rank) ranks.send(net::PeerId(static_cast<std::uint32_t>(rank)), frame);
    run::let_frames_leave(ranks);
}

std::string last_words_at_start() {
    if (mpi::read_launch_environment().rank != 0) return {};
    return "work_queue_run: stopped by a signal before the run began; run the same command again";
}

class Rank {
  public:
    Rank(const RunOptions& options, const std::vector<std::string>& command_line, mpi::GuardLink& guard)
        : options_(options),
          command_line_(command_line),
          launcher_(launcher::Launcher::start().or_throw()),
          signals_(Signals::block().or_throw()),
          early_stop_(signals_, last_words_at_start()) {
        // If the reader of our output is gone, the run continues. Set after the launcher, so its tasks do not
        // inherit it.
        ::signal(SIGPIPE, SIG_IGN);
        const mpi::LaunchEnvironment environment = mpi::read_launch_environment();
        machine::BatchEnd batch_end;
        if (!options.walltime) batch_end = run::ask_for_end(environment.rank == 0);
        if (environment.launched) guard.mpi_starting();
        if (environment.launched) launched_by_ = short_name(environment.launcher);
        session_ = mpi::MpiSession::start(environment).or_throw();
        if (session_->size() > 1) {
            ranks_ = mpi::MpiTransport::open(*session_).or_throw();
            open_tickets();
        }
        leaves_at_ = options.walltime ? instant_now() + *options.walltime : run::known_end(batch_end);
        stop_.grace = options.grace;
        stop_.killed_after_signal = environment.kills_after_signal;
        forgets_code_ = environment.forgets_code_after_signal;
        works_ = !(options.manager_only && session_->rank() == 0);
        share_ = run::share_node(*session_, ".", works_).or_throw();
        if (options.dry_run) {
            const wire::Hello hello = worker_options(options, session_->rank(), share_, leaves_at_).hello;
            rehearsal_ = session_->gather_world(works_ ? wire::encode(hello) : std::string()).or_throw();
        }
        if (environment.launched) guard.mpi_ready(session_->rank());
    }

    int run() {
        if (options_.dry_run) return session_->rank() == 0 ? dry_run(options_, rehearsal_) : 0;
        if (session_->rank() == 0) return manage();
        return work();
    }

    int rank() const { return session_->rank(); }
    int leave(int code, mpi::GuardLink& guard) {
        launcher_->close(launcher_close_limit);
        // The guard reports it to the process manager, which works only before MPI_Finalize.
        const bool code_is_told = code == to_int(ExitCode::interrupted) && forgets_code_ && rank() == 0;
        if (session_->must_exit() || code_is_told) {  // destructors of MPI may wait for lost ranks
            std::fflush(nullptr);
            ::_exit(code);
        }
        // Rank 0 comes last, after everything is saved; it need not wait for missing ranks.
        const Duration limit = session_->rank() == 0 ? std::chrono::seconds(2) : std::chrono::minutes(1);
        ranks_.reset();  // otherwise MPI_Finalize prints 63 warnings per rank about posted receives (MPICH
                         // over UCX)
        if (session_->finish(code, limit)) guard.mpi_finalized();
        return code;
    }

  private:
    void open_tickets() {
        const auto refill = options_.tickets == Tickets::rma       ? run::NodeRefill::window
                            : options_.tickets == Tickets::message ? run::NodeRefill::message
                                                                   : run::NodeRefill::measured;
        tickets_ = run::open_tickets(*session_, refill).or_throw();
        if (refill == run::NodeRefill::window && !tickets_.no_window.empty())
            throw Failure{{ExitCode::usage, "--tickets rma: " + tickets_.no_window +
                                                "; --tickets auto uses messages instead"}};
        if (options_.verbose && !tickets_.why.empty() && session_->rank() == 0)
            ticket_remarks_.push_back("tickets: " + tickets_.why);
    }

    int manage() {
        try {
            if (session_->size() == 1 && !works_ && !options_.listen)
                throw Failure{{ExitCode::usage,
                               "--manager-only needs other workers; use mpirun -n 2 or more, or "
                               "with --listen"}};
            std::vector<std::string> remarks = share_.remarks;
            remarks.insert(remarks.end(), ticket_remarks_.begin(), ticket_remarks_.end());
            ManagerRank manager{options_,
                                command_line_,
                                launched_by_,
                                *session_,
                                ranks_.get(),
                                *launcher_,
                                signals_,
                                early_stop_,
                                worker_options(options_, 0, share_, leaves_at_),
                                stop_,
                                remarks,
                                tickets_.pool.get(),
                                tickets_.counter.get()};
            if (works_) launcher_->open(manager.worker.launcher).or_throw();
            return manager.run();
        } catch (const Failure& failure) {
            std::fprintf(stderr, "work_queue_run: %s\n", failure.error.message.c_str());
            if (ranks_) dismiss(*ranks_, session_->size(), failure.error.message);
            return to_int(failure.error.code);
        }
    }

    int work() {
        worker::WorkerOptions options = worker_options(options_, session_->rank(), share_, leaves_at_);
        launcher_->open(options.launcher).or_throw();
        options.hello.takes_tickets = tickets_.pool != nullptr;
        std::optional<worker::TicketClient> tickets;
        // Beside rank 0, the counters would be taken under a lock in shared memory, which stays locked if its
        // holder dies.
        const bool beside_manager = session_->node_mates().front() == 0;
        if (tickets_.pool)
            tickets.emplace(*tickets_.pool, options.hello.offers,
                            beside_manager ? nullptr : tickets_.counter.get());
        worker::Worker worker(std::move(options), *ranks_, net::PeerId(0), *launcher_,
                              tickets ? &*tickets : nullptr);
        run::WorkerLoop loop({worker, *ranks_, net::PeerId(0), *launcher_, &signals_, stop_});
        early_stop_.end();
        loop.run();
        if (worker.ranks_lost()) session_->note_lost_rank();
        return worker.manager_lost() ? to_int(ExitCode::interrupted) : 0;
    }

    const RunOptions& options_;
    const std::vector<std::string>& command_line_;
    std::string launched_by_;
    std::unique_ptr<launcher::Launcher> launcher_;
    Signals signals_;
    run::EarlyStop early_stop_;
    std::unique_ptr<mpi::MpiSession> session_;
    std::unique_ptr<mpi::MpiTransport> ranks_;
    run::RankTickets tickets_;
    std::vector<std::string> ticket_remarks_;
    std::vector<std::string> rehearsal_;  // for --dry-run: every rank's hello
    run::StopPolicy stop_;
    std::optional<Instant> leaves_at_;  // when the batch job ends
    bool works_ = true;
    bool forgets_code_ = false;  // the launcher forgets the exit code after a signal
    run::NodeShare share_;
};

}  // namespace

int rank_main(const RunOptions& options, const std::vector<std::string>& command_line,
              mpi::GuardLink& guard) {
    try {
        Rank rank(options, command_line, guard);
        const int code = rank.run();
        return rank.leave(code, guard);
    } catch (const Failure& failure) {
        std::fprintf(stderr, "work_queue_run: %s\n", failure.error.message.c_str());
        return to_int(failure.error.code);
    } catch (const std::filesystem::filesystem_error& error) {
        std::fprintf(stderr, "work_queue_run: %s\n", error.what());
        return to_int(ExitCode::bad_input);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "work_queue_run: bug: %s; please report it\n", error.what());
        return to_int(ExitCode::internal);
    }
}

}  // namespace wq::cli
