#include "manager/run/mpi_rank_session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "worker/ticket_client.h"

namespace wq::manager::run {

namespace {

constexpr std::chrono::milliseconds between_looks(200);  // at the other ranks of this node
constexpr std::chrono::seconds late_after(10);

// Looks at the other ranks of this node while this one waits for them in collectives.
class MateLooks {
  public:
    // `mates` and `ended`, the ranks that have ended so far, outlive it.
    MateLooks(const ranks::mpi::MpiSession& mpi, ranks::mpi::ProcessWatch& mates,
              std::set<std::uint32_t>& ended, std::function<void(const std::string&)> say)
        : mates_(mates),
          ended_(ended),
          say_(std::move(say)),
          is_rank_0_(mpi.rank() == 0),
          turn_(std::min(mpi.node_rank(), last_turn)) {}

    // If a rank has ended, this one ends the job by its exit. Ranks that wait do so in turns, and only the
    // first says why: a lower one that does not wait, as it still computes, does not look.
    void operator()() {
        for (const std::uint32_t rank : mates_.ended()) ended_.insert(rank);
        if (!ended_.empty()) {
            if (looks_at_ended_ == 0) ended_at_first_ = ended_.size();
            if (looks_at_ended_++ == turn_) end_job();
        }
        if (is_rank_0_ && ++looks_ == late_after / between_looks)
            say_(
                "after 10 s, not all ranks are ready to share slices: each of them must begin the same "
                "queue");
    }

  private:
    static constexpr int last_turn = 2;

    [[noreturn]] void end_job() const {
        if (ended_.size() == ended_at_first_)  // no other has said it, and left
            say_("rank " + std::to_string(*ended_.begin()) +
                 " has ended, and all ranks must begin to share slices together; start the job again");
        std::fflush(nullptr);  // what the program has printed; its own thread is in MPI
        ::_exit(to_int(ExitCode::interrupted));
    }

    ranks::mpi::ProcessWatch& mates_;
    std::set<std::uint32_t>& ended_;
    std::function<void(const std::string&)> say_;
    bool is_rank_0_;
    int turn_;  // at which look after the end of a rank this one ends the job
    int looks_at_ended_ = 0;
    std::size_t ended_at_first_ = 0;
    int looks_ = 0;
};

}  // namespace

MpiRankSession::MpiRankSession(ranks::mpi::LaunchEnvironment environment, ranks::mpi::GuardLink& guard)
    : environment_(std::move(environment)), guard_(guard) {}

void MpiRankSession::awaited() {
    is_awaited_ = true;
    if (environment_.launched) guard_.mpi_starting();
}

void MpiRankSession::start() {
    awaited();
    mpi_ = ranks::mpi::MpiSession::start(environment_).or_throw();
}

void MpiRankSession::attach() {
    mpi_ = ranks::mpi::MpiSession::attach(environment_).or_throw();
}

void MpiRankSession::open_ranks() {
    if (mpi_->size() > 1) ranks_ = ranks::mpi::MpiTransport::open(*mpi_).or_throw();
}

void MpiRankSession::open_tickets(NodeRefill refill) {
    tickets_ = run::open_tickets(*mpi_, refill).or_throw();
}

void MpiRankSession::ready() {
    is_awaited_ = false;
    if (environment_.launched) guard_.mpi_ready(mpi_->rank());
}

std::unique_ptr<ranks::mpi::Watchdog> MpiRankSession::before_collectives(
    const std::function<void(const std::string&)>& say) {
    awaited();
    if (!mates_) {
        mates_ = std::make_unique<ranks::mpi::ProcessWatch>();
        mpi_->watch_node(*mates_).or_throw();
        return nullptr;
    }
    return std::make_unique<ranks::mpi::Watchdog>(between_looks, MateLooks(*mpi_, *mates_, ended_mates_, say),
                                                  ranks::mpi::Watchdog::Repeats::yes);
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
    const net::frames::PeerId manager(0);
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

namespace {
constexpr Duration limit_after_a_loss = std::chrono::seconds(10);
constexpr Duration limit_of_silence = std::chrono::minutes(1);
}  // namespace

bool settle(ranks::mpi::MpiTransport& ranks, bool well, const std::function<void()>& waits) {
    Waiter waiter;
    const Instant began = instant_now();
    const BackOff back_off(began);
    Instant print_at = began + limit_of_silence;
    ranks.settle(well);
    for (;;) {
        if (const auto settled = ranks.settled()) return *settled;
        const Instant now = instant_now();
        if (!well && now - began >= limit_after_a_loss) return false;
        if (now >= print_at) {
            waits();
            print_at = Instant::max();
        }
        waiter.wait(back_off.pause(now));
    }
}

}  // namespace wq::manager::run
