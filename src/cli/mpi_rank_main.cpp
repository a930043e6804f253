#include "cli/mpi_rank_main.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "app/batch_counter.h"
#include "app/rank_loop.h"
#include "cli/dry_run.h"
#include "cli/manager_rank.h"
#include "cli/node_share.h"
#include "host/batch_end.h"
#include "stats/run_status.h"
#include "transport/mpi_shared_window.h"
#include "transport/mpi_transport.h"
#include "transport/ticket_paths.h"
#include "transport/ticket_pool.h"

namespace wq::cli {

namespace {

constexpr Duration launcher_close_limit = std::chrono::milliseconds(500);

std::string find_shell(const std::string& wanted) {
    if (!wanted.empty()) {
        if (::access(wanted.c_str(), X_OK) != 0)
            throw Failure{
                {ExitCode::usage, "--shell: " + wanted + " cannot be executed; give the path of a shell"}};
        return std::filesystem::absolute(wanted).string();
    }
    for (const char* shell : {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"})
        if (::access(shell, X_OK) == 0) return shell;
    return "/bin/sh";
}

// For "the same mpirun line".
std::string short_name(const std::string& launcher) {
    for (const char* known : {"mpirun", "srun"})
        if (launcher.starts_with(known)) return known;
    return "launcher's";
}

std::string temporary_folder() {
    const char* folder = std::getenv("TMPDIR");
    return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

constexpr Duration batch_answer_limit = std::chrono::seconds(5);

// One rank asks the batch system's server; the others know what stands in their environment.
host::BatchEnd ask_for_end(bool asks_server) {
    return host::BatchEnd::ask(
        [=](const char* name) -> const char* {
            const std::string_view variable = name;
            const bool needs_server = variable == "SLURM_JOB_ID" || variable == "PBS_JOBID";
            return needs_server && !asks_server ? nullptr : std::getenv(name);
        },
        wall_now());
}

app::WorkerOptions worker_options(const RunOptions& options, int rank, const NodeShare& share,
                                  std::optional<Instant> leaves_at) {
    app::WorkerOptions worker;
    worker.hello.rank = static_cast<std::uint32_t>(rank);
    worker.hello.host = stats::host_name();
    worker.hello.offers = share.offers;
    worker.leaves_at = leaves_at;
    for (const std::string& remark : rank == 0 ? std::vector<std::string>() : share.remarks)
        worker.hello.remark += (worker.hello.remark.empty() ? "" : "; ") + remark;
    worker.launcher.slice = share.slice;
    worker.launcher.shell = find_shell(options.shell);
    worker.launcher.scratch = temporary_folder();
    worker.launcher.working_directory = std::filesystem::current_path().string();
    worker.launcher.environment = {{"WORKERID", std::to_string(rank)}};
    worker.launcher.output_limit = options.output_limit;
    worker.index_variable = options.index_variable;
    worker.launcher.environment_lines = true;
    return worker;
}

void dismiss(transport::Transport& ranks, int size, const std::string& why) {
    const std::string frame = wire::encode(wire::Dismiss{why, false});
    for (int rank = 1; rank < size; ++rank)
        ranks.send(transport::PeerId(static_cast<std::uint32_t>(rank)), frame);
    app::let_frames_leave(ranks);
}

std::string last_words_at_start() {
    if (transport::read_launch_environment().rank != 0) return {};
    return "work_queue_run: stopped by a signal before the run began; the same command begins anew";
}

class Rank {
  public:
    Rank(const RunOptions& options, const std::vector<std::string>& command_line, transport::GuardLink& guard)
        : options_(options),
          command_line_(command_line),
          launcher_(host::Launcher::start().or_throw()),
          signals_(app::Signals::block().or_throw()),
          early_stop_(signals_, last_words_at_start()) {
        // A reader of our output that has gone ends no run. After the launcher: its tasks do not inherit it.
        ::signal(SIGPIPE, SIG_IGN);
        const transport::LaunchEnvironment environment = transport::read_launch_environment();
        host::BatchEnd batch_end;
        if (!options.walltime) batch_end = ask_for_end(environment.rank == 0);
        if (environment.launched) guard.mpi_starting();
        if (environment.launched) launched_by_ = short_name(environment.launcher);
        session_ = transport::MpiSession::start(environment).or_throw();
        if (session_->size() > 1) {
            ranks_ = transport::MpiTransport::open(*session_).or_throw();
            open_tickets();
        }
        leaves_at_ = known_end(batch_end);
        stop_.grace = options.grace;
        stop_.killed_after_signal = environment.kills_after_signal;
        forgets_code_ = environment.forgets_code_after_signal;
        works_ = !(options.manager_only && session_->rank() == 0);
        share_ = share_node(*session_, ".", works_).or_throw();
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
    int leave(int code, transport::GuardLink& guard) {
        launcher_->close(launcher_close_limit);
        // Said to the process manager by the guard, which can only before MPI_Finalize.
        const bool code_is_told = code == to_int(ExitCode::interrupted) && forgets_code_ && rank() == 0;
        if (session_->must_exit() || code_is_told) {  // destructors of MPI may wait for what is lost
            std::fflush(nullptr);
            ::_exit(code);
        }
        // Rank 0 comes last, when all is saved; it need not wait for one that is gone by now.
        const Duration limit = session_->rank() == 0 ? std::chrono::seconds(2) : std::chrono::minutes(1);
        ranks_.reset();  // receives still posted in MPI_Finalize cost 63 warnings a rank with MPICH over UCX
        if (session_->finish(code, limit)) guard.mpi_finalized();
        return code;
    }

  private:
    std::optional<Instant> known_end(host::BatchEnd& batch_end) const {
        if (options_.walltime) return instant_now() + *options_.walltime;
        const auto told = batch_end.wait(batch_answer_limit);
        if (!told) return std::nullopt;
        return instant_now() + std::chrono::microseconds(*told - wall_now());
    }

    void open_tickets() {
        transport::PoolShape shape;
        shape.ranks = static_cast<std::uint32_t>(session_->node_size());
        auto self = static_cast<std::uint32_t>(session_->node_rank());
        if (shape.ranks <= transport::kMostClaimers) {
            auto shared = transport::open_node_segment(*session_, transport::TicketPool::bytes_needed(shape));
            if (shared) segment_ = std::move(*shared);
        }
        if (!segment_) {  // too many ranks, or an MPI without shared windows: every rank is a node of its own
            shape.ranks = 1;
            self = 0;
            segment_ = transport::make_private_segment(transport::TicketPool::bytes_needed(shape));
        }
        if (self == 0) transport::TicketPool::format(segment_->data(), shape);
        session_->gather_node("").or_throw();  // nobody attaches before it is formatted
        pool_ = std::make_unique<transport::TicketPool>(segment_->data(), shape, self);
        if (session_->node_size() < session_->size() && options_.tickets != Tickets::message) open_counter();
    }

    // Level 2 of tickets: how a node fetches its next range from rank 0.
    void open_counter() {
        auto window = transport::CounterWindow::open(*session_, app::BatchCounter::counters);
        const std::string problem = window ? "" : window.error().message;
        if (window) counter_ = std::move(*window);
        if (options_.tickets == Tickets::rma) {
            if (!counter_)
                throw Failure{
                    {ExitCode::usage, "--tickets rma: " + problem + "; --tickets auto takes messages then"}};
            return;
        }
        const auto paths = transport::measure_ticket_paths(*session_, counter_.get(), problem).or_throw();
        if (!paths.window) counter_.reset();
        if (options_.verbose && session_->rank() == 0) ticket_remarks_.push_back("tickets: " + paths.why);
    }

    int manage() {
        try {
            if (session_->size() == 1 && !works_ && !options_.listen)
                throw Failure{{ExitCode::usage,
                               "--manager-only needs others that work; start it with mpirun -n 2 or more, or "
                               "with --listen"}};
            std::vector<std::string> remarks = share_.remarks;
            remarks.insert(remarks.end(), ticket_remarks_.begin(), ticket_remarks_.end());
            ManagerRank manager{options_,      command_line_, launched_by_,
                                *session_,     ranks_.get(),  *launcher_,
                                signals_,      early_stop_,   worker_options(options_, 0, share_, leaves_at_),
                                stop_,         remarks,       pool_.get(),
                                counter_.get()};
            if (works_) launcher_->open(manager.worker.launcher).or_throw();
            return manager.run();
        } catch (const Failure& failure) {
            std::fprintf(stderr, "work_queue_run: %s\n", failure.error.message.c_str());
            if (ranks_) dismiss(*ranks_, session_->size(), failure.error.message);
            return to_int(failure.error.code);
        }
    }

    int work() {
        app::WorkerOptions options = worker_options(options_, session_->rank(), share_, leaves_at_);
        launcher_->open(options.launcher).or_throw();
        options.hello.takes_tickets = pool_ != nullptr;
        std::optional<app::TicketTaker> tickets;
        // Beside rank 0 the counters would be taken under a lock in shared memory, which dies with its
        // holder.
        const bool beside_manager = session_->node_mates().front() == 0;
        if (pool_) tickets.emplace(*pool_, options.hello.offers, beside_manager ? nullptr : counter_.get());
        app::Worker worker(std::move(options), *ranks_, transport::PeerId(0), *launcher_,
                           tickets ? &*tickets : nullptr);
        app::WorkerLoop loop({worker, *ranks_, transport::PeerId(0), *launcher_, &signals_, stop_});
        early_stop_.end();
        loop.run();
        if (worker.ranks_lost()) session_->note_lost_rank();
        return worker.manager_lost() ? to_int(ExitCode::interrupted) : 0;
    }

    const RunOptions& options_;
    const std::vector<std::string>& command_line_;
    std::string launched_by_;
    std::unique_ptr<host::Launcher> launcher_;
    app::Signals signals_;
    app::EarlyStop early_stop_;
    std::unique_ptr<transport::MpiSession> session_;
    std::unique_ptr<transport::MpiTransport> ranks_;
    std::unique_ptr<transport::Segment> segment_;
    std::unique_ptr<transport::TicketPool> pool_;
    std::unique_ptr<transport::CounterWindow> counter_;
    std::vector<std::string> ticket_remarks_;
    std::vector<std::string> rehearsal_;  // of --dry-run: every rank's hello
    app::StopPolicy stop_;
    std::optional<Instant> leaves_at_;  // the batch job ends then
    bool works_ = true;
    bool forgets_code_ = false;  // the launcher, after a signal
    NodeShare share_;
};

}  // namespace

int rank_main(const RunOptions& options, const std::vector<std::string>& command_line,
              transport::GuardLink& guard) {
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
