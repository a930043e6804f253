// ticket_kill_test SEED: ranks other than 0 are killed (SIGKILL by a timer, at any instruction) while all
// claim, write and read tickets with texts. The survivors must reach the end; no ticket may be claimed twice
// and no text be wrong; only the dead ranks' own tickets may be missing. Rank 0 exits with 0 if all that
// holds.
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <random>

#include "mpi/rank_program.h"
#include "ranks/mpi/mpi_shared_window.h"
#include "ranks/mpi/mpi_transport.h"
#include "ranks/tickets/ticket_pool.h"

namespace wq::test {
namespace {

using namespace ranks::mpi;
using namespace net::frames;
using namespace ranks::tickets;

constexpr std::uint64_t kMostTickets = 1500000;
constexpr std::uint32_t kRefill = 300;
const BatchId kBatch(1);

// Replaces rank 0's counter, and counts claims.
struct Books {
    std::atomic<std::uint64_t> next;
    std::atomic<std::uint64_t> twice;
    std::atomic<std::uint64_t> wrong_texts;
    std::atomic<std::uint64_t> overwritten;
    std::atomic<std::uint8_t> marks[kMostTickets];
};

// With sanitizers each takes several times as long, and ranks die within the same time.
std::uint64_t tickets() {
    const char* patience = ::getenv("WQ_PATIENCE");
    return kMostTickets / (patience != nullptr ? ::strtoull(patience, nullptr, 10) : 1) / kRefill * kRefill;
}

void die_at_a_random_moment(std::mt19937_64& random) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    CHECK(::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    itimerspec when{};
    when.it_value.tv_nsec = static_cast<long>(1 + random() % 300000000);
    CHECK(::timer_settime(timer, 0, &when, nullptr) == 0);
}

std::string text_of(std::uint64_t ticket) {
    return "echo " + std::to_string(ticket);
}

class Claimer {
  public:
    Claimer(TicketPool& pool, Books& books) : pool_(pool), books_(books) {}

    void run() {
        for (;;) {
            const Claim claim = pool_.take(1);
            if (claim.state == Claim::State::claimed) {
                mark(claim.range);
                check_text(claim);
            } else if (claim.state == Claim::State::dry && !refill()) {
                break;
            }
        }
        books_.overwritten += pool_.overwritten();
    }

  private:
    bool refill() {
        const std::uint64_t first = books_.next.fetch_add(kRefill);
        if (first >= tickets_) return pool_.remaining() > 0;
        const TicketRange range{kBatch, first, kRefill};
        texts_.clear();
        for (std::uint32_t i = 0; i < kRefill; ++i) texts_.push_back(text_of(first + i));
        if (pool_.install(range, texts_) != Install::installed) mark(range);
        return true;
    }

    void check_text(const Claim& claim) {
        const auto texts = pool_.texts(claim);
        if (texts && texts->front() != text_of(claim.range.first)) ++books_.wrong_texts;
    }

    void mark(const TicketRange& range) {
        for (std::uint32_t i = 0; i < range.count; ++i) {
            if (books_.marks[range.first + i].fetch_add(1) != 0) ++books_.twice;
        }
    }

    TicketPool& pool_;
    Books& books_;
    const std::uint64_t tickets_ = tickets();
    std::vector<std::string> texts_;
};

void wait_for_the_others(MpiTransport& transport, int others) {
    std::vector<Arrival> inbox;
    for (int left = 0; left < others;) {
        inbox.clear();
        transport.poll(inbox);
        for (const Arrival& arrival : inbox) left += std::holds_alternative<Left>(arrival) ? 1 : 0;
    }
}

void audit(const Books& books, int ranks) {
    std::uint64_t missing = 0;
    for (std::uint64_t ticket = 0; ticket < tickets(); ++ticket) missing += books.marks[ticket] == 0 ? 1 : 0;
    CHECK(books.twice == 0);
    CHECK(books.wrong_texts == 0);
    // A dead rank had at most a range not yet installed or marked, and a claim of one.
    const auto dead = static_cast<std::uint64_t>(ranks - 1);
    CHECK(missing <= books.overwritten + dead * (kRefill + 1));
}

int rank_main(GuardLink& guard, std::uint64_t seed) {
    auto session = start_rank(guard);
    auto transport = MpiTransport::open(*session).or_throw();
    const PoolShape shape{static_cast<std::uint32_t>(session->node_size()), 32 * 1024};
    const auto segment = open_node_segment(*session, TicketPool::bytes_needed(shape)).or_throw();
    const auto memory = open_node_segment(*session, sizeof(Books)).or_throw();
    if (session->node_rank() == 0) TicketPool::format(segment->data(), shape);
    CHECK(session->gather_node("formatted").ok());
    guard.mpi_ready(session->rank());

    Books& books = *reinterpret_cast<Books*>(memory->data());
    TicketPool pool(segment->data(), shape, static_cast<std::uint32_t>(session->node_rank()));
    std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(session->rank()));
    if (session->rank() > 0 && random() % 3 != 0) die_at_a_random_moment(random);
    Claimer(pool, books).run();
    if (session->rank() == 0) {
        wait_for_the_others(*transport, session->size() - 1);
        audit(books, session->size());
    }
    ::_exit(0);
}

}  // namespace
}  // namespace wq::test

int main(int count, char** arguments) {
    const std::uint64_t seed = count > 1 ? ::strtoull(arguments[1], nullptr, 10) : 0;
    return wq::ranks::mpi::run_guarded(
        wq::ranks::mpi::read_launch_environment(),
        [=](wq::ranks::mpi::GuardLink& guard) { return wq::test::rank_main(guard, seed); });
}
