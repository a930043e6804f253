#include "programs/run/mpi_rank_main.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/find_program.h"
#include "base/shortage.h"
#include "manager/run/job_end.h"
#include "manager/run/mpi_rank_session.h"
#include "manager/run/own_worker.h"
#include "manager/run/rank_loop.h"
#include "node/machine/batch_job.h"
#include "node/machine/divide.h"
#include "programs/run/dry_run.h"
#include "programs/run/manager_rank.h"
#include "ranks/mpi/launch_environment.h"

namespace wq::programs::run {

namespace {

// Used in "the same mpirun command".
std::string short_name(const std::string& launcher) {
    for (const char* known : {"mpirun", "srun"})
        if (launcher.starts_with(known)) return known;
    return "launcher";
}

wq::worker::WorkerOptions worker_options(const RunOptions& options, int rank,
                                         const manager::run::NodeShare& share,
                                         std::optional<Instant> leaves_at) {
    const auto shell = find_shell(options.shell);
    if (!shell) throw Failure{{shell.error().code, "--shell: " + shell.error().message}};
    auto worker = manager::run::rank_worker({rank, *shell, options.index_variable, true, leaves_at}, share);
    node::machine::bind_as(worker.launcher.slice, options.bind, options.threads_per_core);
    return worker;
}

std::string last_words_at_start() {
    if (ranks::mpi::read_launch_environment().rank != 0) return {};
    return "work_queue_run: stopped by a signal before the run began; run the same command again";
}

class Rank {
  public:
    Rank(const RunOptions& options, const std::vector<std::string>& command_line,
         ranks::mpi::GuardLink& guard)
        : options_(options),
          command_line_(command_line),
          launcher_(node::launcher::Launcher::start().or_throw()),
          signals_(Signals::block().or_throw()),
          early_stop_(signals_, last_words_at_start()),
          session_(ranks::mpi::read_launch_environment(), guard) {
        // If the reader of our output is gone, the run continues. Set after the launcher, so its tasks do not
        // inherit it.
        ::signal(SIGPIPE, SIG_IGN);
        const ranks::mpi::LaunchEnvironment& environment = session_.environment();
        node::machine::BatchEnd batch_end;
        using manager::run::EndFrom;
        if (!options.walltime)
            batch_end =
                manager::run::ask_for_end(environment.rank == 0 ? EndFrom::server : EndFrom::environment);
        if (environment.launched) launched_by_ = short_name(environment.launcher);
        session_.start();
        session_.open_ranks();
        if (session_.ranks() != nullptr) open_tickets();
        leaves_at_ =
            options.walltime ? instant_now() + *options.walltime : manager::run::known_end(batch_end);
        stop_.grace = options.grace;
        stop_.killed_after_signal = environment.kills_after_signal;
        works_ = !(options.manager_only && session_.mpi().rank() == 0);
        share_ = manager::run::share_node(session_.mpi(), ".", works_).or_throw();
        if (options.dry_run) {
            const net::messages::Hello hello =
                worker_options(options, session_.mpi().rank(), share_, leaves_at_).hello;
            rehearsal_ =
                session_.mpi().gather_world(works_ ? net::messages::encode(hello) : std::string()).or_throw();
        }
        session_.ready();
    }

    int run() {
        if (options_.dry_run) return session_.mpi().rank() == 0 ? printed(dry_run(options_, rehearsal_)) : 0;
        if (session_.mpi().rank() == 0) return printed(manage());
        return work();
    }

    int leave(int code) {
        launcher_->close(manager::run::rank_close_limit);
        session_.end(code);
        return code;
    }

  private:
    static int printed(int code) { return after_output("work_queue_run", code); }

    void open_tickets() {
        const auto refill = options_.tickets == TicketMode::rma       ? manager::run::NodeRefill::window
                            : options_.tickets == TicketMode::message ? manager::run::NodeRefill::message
                                                                      : manager::run::NodeRefill::measured;
        session_.open_tickets(refill);
        const manager::run::RankTickets& tickets = session_.tickets();
        if (refill == manager::run::NodeRefill::window && !tickets.no_window.empty())
            throw Failure{{ExitCode::usage,
                           "--tickets rma: " + tickets.no_window + "; --tickets auto uses messages instead"}};
        if (!tickets.not_shared.empty())
            ticket_remarks_.push_back("ranks get tasks by message: " + tickets.not_shared);
        if (options_.verbose && !tickets.why.empty() && session_.mpi().rank() == 0)
            ticket_remarks_.push_back("tickets: " + tickets.why);
    }

    int manage() {
        try {
            if (session_.mpi().size() == 1 && !works_ && !options_.listen)
                throw Failure{{ExitCode::usage,
                               "--manager-only needs other workers; use mpirun -n 2 or more, or --listen"}};
            std::vector<std::string> remarks = share_.remarks;
            if (const std::string unused = unused_nodes(); !unused.empty()) remarks.push_back(unused);
            remarks.insert(remarks.end(), ticket_remarks_.begin(), ticket_remarks_.end());
            ManagerRank manager{options_,
                                command_line_,
                                launched_by_,
                                session_.mpi(),
                                session_.ranks(),
                                *launcher_,
                                signals_,
                                early_stop_,
                                worker_options(options_, 0, share_, leaves_at_),
                                stop_,
                                remarks,
                                session_.tickets().pool.get(),
                                session_.tickets().counter.get()};
            if (works_) launcher_->open(manager.worker.launcher).or_throw();
            return manager.run();
        } catch (const Failure& failure) {
            std::fprintf(stderr, "work_queue_run: %s\n", failure.error.message.c_str());
            if (session_.ranks() != nullptr)
                manager::run::dismiss_ranks(*session_.ranks(),
                                            static_cast<std::uint32_t>(session_.mpi().size()),
                                            failure.error.message);
            return to_int(failure.error.code);
        }
    }

    // A job script may have several nodes, and start this program without a launcher.
    std::string unused_nodes() {
        if (!launched_by_.empty() || session_.mpi().size() > 1 || options_.listen) return {};
        const auto nodes = node::machine::batch_nodes(node::machine::batch_environment());
        if (!nodes || *nodes <= 1) return {};
        return "this run uses one of the " + std::to_string(*nodes) +
               " nodes of its job: start it with mpirun or srun --mpi=pmix to use all";
    }

    int work() {
        wq::worker::WorkerOptions options =
            worker_options(options_, session_.mpi().rank(), share_, leaves_at_);
        launcher_->open(options.launcher).or_throw();
        early_stop_.end();
        const manager::run::RankWorkEnd end =
            session_.work({std::move(options), *launcher_, &signals_, stop_});
        if (end.ranks_lost) session_.mpi().note_lost_rank();
        return end.exit_code;
    }

    const RunOptions& options_;
    const std::vector<std::string>& command_line_;
    std::string launched_by_;
    std::unique_ptr<node::launcher::Launcher> launcher_;
    Signals signals_;
    manager::run::EarlyStop early_stop_;
    manager::run::MpiRankSession session_;
    std::vector<std::string> ticket_remarks_;
    std::vector<std::string> rehearsal_;  // for --dry-run: every rank's hello
    manager::run::StopPolicy stop_;
    std::optional<Instant> leaves_at_;  // when the batch job ends
    bool works_ = true;
    manager::run::NodeShare share_;
};

}  // namespace

int rank_main(const RunOptions& options, const std::vector<std::string>& command_line,
              ranks::mpi::GuardLink& guard) {
    try {
        Rank rank(options, command_line, guard);
        const int code = rank.run();
        return rank.leave(code);
    } catch (const Failure& failure) {
        std::fprintf(stderr, "work_queue_run: %s\n", failure.error.message.c_str());
        return to_int(failure.error.code);
    } catch (const std::filesystem::filesystem_error& error) {
        std::fprintf(stderr, "work_queue_run: %s\n", error.what());
        return to_int(ExitCode::bad_input);
    } catch (const std::exception& error) {
        const Error why = unexpected(error);
        std::fprintf(stderr, "work_queue_run: %s\n", why.message.c_str());
        return to_int(why.code);
    }
}

}  // namespace wq::programs::run
