#include "run/mpi_rank_session.h"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "worker/ticket_client.h"

namespace wq::run {

namespace {

constexpr std::chrono::milliseconds between_looks(200);  // at the other ranks of this node
constexpr std::chrono::seconds late_after(10);

// Collective.
std::unique_ptr<mpi::ProcessWatch> watch_mates(const mpi::MpiSession& mpi) {
    const mpi::ProcessAddress self = mpi::own_process_address();
    ByteWriter mine;
    mine.u64(static_cast<std::uint64_t>(self.pid));
    mine.u64(self.pid_namespace);
    const auto all = mpi.gather_node(mine.take()).or_throw();
    auto watch = std::make_unique<mpi::ProcessWatch>();
    for (std::size_t mate = 0; mate < all.size(); ++mate) {
        ByteReader in(all[mate]);
        const auto pid = static_cast<pid_t>(in.u64());
        const int rank = mpi.node_mates()[mate];
        if (rank != mpi.rank()) watch->add(static_cast<std::uint32_t>(rank), {pid, in.u64()});
    }
    // All ranks are alive until here, so no pid was reused before its watch began.
    mpi.gather_node("").or_throw();
    return watch;
}

}  // namespace

MpiRankSession::MpiRankSession(mpi::LaunchEnvironment environment, mpi::GuardLink& guard)
    : environment_(std::move(environment)), guard_(guard) {}

void MpiRankSession::awaited() {
    is_awaited_ = true;
    if (environment_.launched) guard_.mpi_starting();
}

void MpiRankSession::start() {
    awaited();
    mpi_ = mpi::MpiSession::start(environment_).or_throw();
}

void MpiRankSession::attach() {
    mpi_ = mpi::MpiSession::attach(environment_).or_throw();
}

void MpiRankSession::open_ranks() {
    if (mpi_->size() > 1) ranks_ = mpi::MpiTransport::open(*mpi_).or_throw();
}

void MpiRankSession::open_tickets(NodeRefill refill) {
    tickets_ = run::open_tickets(*mpi_, refill).or_throw();
}

void MpiRankSession::ready() {
    is_awaited_ = false;
    if (environment_.launched) guard_.mpi_ready(mpi_->rank());
}

std::unique_ptr<mpi::Watchdog> MpiRankSession::before_collectives(
    const std::function<void(const std::string&)>& say) {
    awaited();
    if (!mates_) {
        mates_ = watch_mates(*mpi_);
        return nullptr;
    }
    const auto look = [mates = mates_.get(), say, is_rank_0 = mpi_->rank() == 0, looks = 0]() mutable {
        if (const auto ended = mates->ended(); !ended.empty()) {
            say("rank " + std::to_string(ended.front()) +
                " has ended, and all ranks must begin to share slices together; start the job again");
            std::fflush(nullptr);  // what the program has printed; its own thread is in MPI
            ::_exit(to_int(ExitCode::interrupted));
        }
        if (is_rank_0 && ++looks == late_after / between_looks)
            say("after 10 s, not all ranks are ready to share slices: each of them must begin the same "
                "queue");
    };
    return std::make_unique<mpi::Watchdog>(between_looks, look, mpi::Watchdog::Repeats::yes);
}

RankWorkEnd MpiRankSession::work(RankWorkParts parts) {
    parts.options.hello.takes_tickets = tickets_.pool != nullptr;
    // Beside rank 0, the counters would be taken under a lock in shared memory, which stays locked if its
    // holder dies.
    const bool beside_manager = mpi_->node_mates().front() == 0;
    std::optional<worker::TicketClient> tickets;
    if (tickets_.pool)
        tickets.emplace(*tickets_.pool, parts.options.hello.offers,
                        beside_manager ? nullptr : tickets_.counter.get());
    const net::PeerId manager(0);
    worker::Worker worker(std::move(parts.options), *ranks_, manager, parts.launcher,
                          tickets ? &*tickets : nullptr, parts.functions, parts.files);
    WorkerLoop(
        {worker, *ranks_, manager, parts.launcher, parts.signals, parts.stop, parts.functions, parts.files})
        .run();
    return {worker.manager_lost() ? to_int(ExitCode::interrupted) : 0, worker.ranks_lost()};
}

void MpiRankSession::end(int code) {
    std::fflush(nullptr);
    const bool is_rank_0 = mpi_->rank() == 0;
    const bool fails_others = is_awaited_ && code != 0;  // then the guard ends the job
    if (!fails_others) ready();
    // After a signal such launchers forget the exit code. The guard reports it to the process manager, which
    // works only before MPI_Finalize.
    const bool guard_reports =
        code == to_int(ExitCode::interrupted) && environment_.forgets_code_after_signal && is_rank_0;
    // MPI's destructors may wait for lost ranks, so they do not run.
    if (mpi_->must_exit() || guard_reports) ::_exit(code);
    // Rank 0 comes last, after everything is saved; it need not wait for missing ranks.
    const Duration limit =
        is_rank_0 || fails_others ? Duration(std::chrono::seconds(2)) : std::chrono::minutes(1);
    // Otherwise MPI_Finalize prints 63 warnings per rank about posted receives (MPICH over UCX).
    ranks_.reset();
    if (mpi_->finish(code, limit)) guard_.mpi_finalized();
}

void MpiRankSession::detach() {
    tickets_ = {};
    ranks_.reset();
    mpi_->detach();
}

}  // namespace wq::run
