// Ranks take slices, each as if it were alone on its node: nodes without rank 0 are refilled through rank 0's
// window, or by message. Some ranks are killed, but not inside a call of MPI: the library may hold a lock
// there that the others need. Rank 0 exits with 0 if each slice counts once, whoever was killed.
// Usage: slice_counter window|message SEED KILLED
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mpi/rank_program.h"
#include "ranks/mpi/mpi_shared_window.h"
#include "ranks/mpi/mpi_ticket_paths.h"
#include "ranks/tickets/sealed_batch.h"
#include "slices/claims/line_threads.h"
#include "unit/slices/claims/node_tickets.h"

namespace wq::test {
namespace {

constexpr std::uint64_t positions = 5000;

// In memory that all ranks share.
struct Books {
    std::atomic<std::uint32_t> taken[positions];            // by all
    std::atomic<std::uint32_t> taken_by_living[positions];  // by those who come to the end
    std::atomic<std::uint64_t> drawn;                       // additions
    std::atomic<std::uint64_t> here;                        // ranks that take
};

[[noreturn]] void die() {
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
}

// Tells when no call of MPI is under way, and dies after an addition, before what was drawn is there for
// anybody.
class Watched final : public ranks::tickets::Counters {
  public:
    Watched(ranks::tickets::Counters& window, Books& books) : window_(window), books_(books) {}
    void die_after(std::uint64_t additions) { left_ = additions; }
    void die_now() {
        const std::lock_guard lock(mutex_);
        die();
    }

    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override {
        const std::lock_guard lock(mutex_);
        auto before = window_.add(counter, amount);
        ++books_.drawn;
        if (left_ && --*left_ == 0) die();
        return before;
    }
    Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) override {
        return window_.exchange(counter, value);
    }
    void serve() override { window_.serve(); }

  private:
    ranks::tickets::Counters& window_;
    Books& books_;
    std::mutex mutex_;
    std::optional<std::uint64_t> left_;
};

struct Plan {
    bool window = false;
    unsigned seed = 0;
    int killed = 0;  // the last ranks
};

class Rank {
  public:
    Rank(const Plan& plan, ranks::mpi::MpiSession& session, ranks::tickets::Counters* window, Books& books)
        : plan_(plan),
          session_(session),
          books_(books),
          random_(plan.seed * 100 + static_cast<unsigned>(session.rank())),
          pool_(node_.of(0)) {
        if (window != nullptr) watched_.emplace(*window, books);
    }

    void run() {
        std::uint16_t port = 0;
        auto others = listener(port);
        port =
            static_cast<std::uint16_t>(std::stoi(session_.gather_world(std::to_string(port)).or_throw()[0]));
        if (session_.rank() == 0) return give(std::move(others));
        slices::claims::TakerOptions options = options_of_rank();
        if (watched_) options.counters = &*watched_;
        net::frames::TcpDialOptions dial;
        dial.managers = {{"127.0.0.1", port}};
        dial.key = "key";
        const auto line = slices::claims::TakerLine::open(std::move(dial), *pool_, options).or_throw();
        CHECK(line->taker().join());
        CHECK(session_.gather_world("joined").ok());
        const bool dies = session_.rank() >= session_.size() - plan_.killed;
        if (dies && watched_ && plan_.seed % 2 == 0) watched_->die_after(1 + random_() % 5);
        take_all(line->taker(), dies ? std::optional(random_() % 300) : std::nullopt);
    }

  private:
    slices::claims::TakerOptions options_of_rank() const {
        slices::claims::TakerOptions options;
        options.node = "node of " + std::to_string(session_.rank());
        options.rank = static_cast<std::uint32_t>(session_.rank());
        options.most_claimed = 4;
        return options;
    }
    std::unique_ptr<net::frames::TcpListener> listener(std::uint16_t& port) const {
        if (session_.rank() > 0) return nullptr;
        net::frames::TcpListenOptions options;
        options.bind = {"127.0.0.1"};
        options.key = "key";
        auto others = net::frames::TcpListener::open(std::move(options)).or_throw();
        port = others->port();
        return others;
    }

    void give(std::unique_ptr<net::frames::TcpListener> others) {
        // An epoch as long as this makes the parts small, and the draws many.
        slices::claims::GiverLine giver(
            {std::move(others), slices::plan::PassLedger(positions, slices::plan::Delivery::exactly_once),
             positions / 10},
            *pool_, options_of_rank());
        CHECK(giver.taker().join());
        CHECK(session_.gather_world("joined").ok());
        if (watched_) giver.use(*watched_);
        take_all(giver.taker(), std::nullopt);
        giver.close();
        CHECK(giver.report().committed == positions);
        CHECK(giver.report().late == 0);
        CHECK(plan_.killed > 0 || giver.report().lost_ranks == 0);
    }

    // `dies_after`: so many slices.
    void take_all(slices::claims::Taker& taker, std::optional<std::uint64_t> dies_after) {
        ++books_.here;
        while (books_.here < static_cast<std::uint64_t>(session_.size())) std::this_thread::yield();
        std::vector<std::uint64_t> all;
        std::optional<std::uint64_t> position;
        while ((position = taker.take_after(position, {}))) {
            ++books_.taken[*position];
            all.push_back(*position);
            if (dies_after && all.size() > *dies_after) watched_ ? watched_->die_now() : die();
            for (volatile int work = static_cast<int>(random_() % 60'000); work > 0;) work = work - 1;
        }
        CHECK(taker.failure() == std::nullopt);
        for (const std::uint64_t each : all) ++books_.taken_by_living[each];
    }

    const Plan& plan_;
    ranks::mpi::MpiSession& session_;
    Books& books_;
    std::mt19937 random_;
    slices::claims::NodeTickets node_{1};
    std::unique_ptr<ranks::tickets::TicketPool> pool_;
    std::optional<Watched> watched_;
};

void audit(const Plan& plan, const Books& books) {
    for (std::uint64_t position = 0; position < positions; ++position) {
        CHECK(books.taken[position] > 0);
        CHECK(books.taken_by_living[position] <= 1);
        CHECK(plan.killed > 0 || books.taken[position] == 1);
    }
    CHECK(plan.window == (books.drawn > 0));
    std::printf("%s, %d killed: %llu additions\n", plan.window ? "window" : "message", plan.killed,
                static_cast<unsigned long long>(books.drawn));
}

int rank_main(ranks::mpi::GuardLink& guard, const Plan& plan) {
    auto session = start_rank(guard);
    auto window = ranks::mpi::CounterWindow::open(*session, ranks::tickets::BatchCounter::counters);
    if (!window) std::fprintf(stderr, "%s\n", window.error().message.c_str());
    CHECK(window.ok());
    const auto memory = ranks::mpi::open_node_segment(*session, sizeof(Books)).or_throw();
    CHECK(session->gather_world("begun").ok());
    guard.mpi_ready(session->rank());
    Books& books = *reinterpret_cast<Books*>(memory->data());
    Rank(plan, *session, plan.window ? window->get() : nullptr, books).run();
    if (session->rank() == 0) audit(plan, books);
    std::fflush(nullptr);
    if (plan.killed > 0) ::_exit(0);  // MPI_Finalize would wait for them
    CHECK(session->gather_world("end").ok());
    CHECK(session->finish(1));
    guard.mpi_finalized();
    return 0;
}

}  // namespace
}  // namespace wq::test

int main(int count, char** arguments) {
    if (count < 4) return 64;
    const wq::test::Plan plan{std::string(arguments[1]) == "window",
                              static_cast<unsigned>(std::atoi(arguments[2])), std::atoi(arguments[3])};
    return wq::test::run_rank(
        [&](wq::ranks::mpi::GuardLink& guard) { return wq::test::rank_main(guard, plan); });
}
