// Claims per second of every ticket path, one at a time and by all ranks together, and the cost of the MPI
// transport. Run under mpirun with 2 or more ranks; rank 0 prints a table.
//
//   mpirun -n 2 bench_mpi [MILLISECONDS]     of each
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "ranks/mpi/mpi_session.h"
#include "ranks/mpi/mpi_shared_window.h"
#include "ranks/mpi/mpi_ticket_paths.h"
#include "ranks/mpi/mpi_transport.h"
#include "ranks/tickets/ticket_pool.h"

namespace {

using namespace wq;
using namespace wq::net::frames;

constexpr int kMilliseconds = 1000;            // for each
constexpr std::uint64_t kClaimsPerLook = 256;  // between looks at the clock
const BatchId kBatch(1);

double seconds_since(Instant start) {
    return std::chrono::duration<double>(instant_now() - start).count();
}

class Bench {
  public:
    Bench(ranks::mpi::MpiSession& session, Duration each) : session_(session), each_(each) {}

    // `claim` makes kClaimsPerLook claims and returns how many succeeded.
    void all_ranks(const char* what, const std::function<std::uint64_t()>& claim) {
        meet();
        const Instant start = instant_now();
        std::uint64_t claims = 0;
        while (instant_now() - start < each_) claims += claim();
        const double rate = static_cast<double>(claims) / seconds_since(start);
        double sum = 0;
        for (const std::string& text : session_.gather_world(std::to_string(rate)).or_throw())
            sum += std::stod(text);
        row(what, sum, "claims/s");
    }

    void row(const char* what, double value, const char* unit) const {
        if (session_.rank() == 0) std::printf("%-44s %14.0f %s\n", what, value, unit), std::fflush(stdout);
    }
    void meet() { session_.gather_world("").or_throw(); }
    ranks::mpi::MpiSession& session() { return session_; }
    Duration each() const { return each_; }

  private:
    ranks::mpi::MpiSession& session_;
    Duration each_;
};

void raw_atomic(Bench& bench, ranks::mpi::Segment& segment) {
    auto& counter = *reinterpret_cast<std::atomic<std::uint64_t>*>(segment.data());
    bench.all_ranks("bare fetch_add in shared memory", [&] {
        for (std::uint64_t i = 0; i < kClaimsPerLook; ++i) counter.fetch_add(1);
        return kClaimsPerLook;
    });
}

void node_word(Bench& bench, ranks::tickets::TicketPool& pool) {
    std::uint64_t first = 0;
    bench.all_ranks("node word, one at a time", [&] {
        std::uint64_t claimed = 0;
        for (std::uint64_t i = 0; i < kClaimsPerLook; ++i) {
            const ranks::tickets::Claim claim = pool.take(1);
            if (claim.state == ranks::tickets::Claim::State::claimed) {
                ++claimed;
            } else if (claim.state == ranks::tickets::Claim::State::dry) {
                [[maybe_unused]] const ranks::tickets::Install done = pool.install(
                    {kBatch, first += ranks::tickets::kMostTickets, ranks::tickets::kMostTickets});
            }
        }
        return claimed;
    });
    pool.revoke(kBatch);
}

// As takers of slices claim: up to 256 at once. What is counted are tickets.
void guided(Bench& bench, ranks::tickets::TicketPool& pool) {
    std::uint64_t first = 0;
    bench.all_ranks("node word, guided sizes, in tickets", [&] {
        std::uint64_t claimed = 0;
        while (claimed < kClaimsPerLook) {
            const std::uint64_t part = ranks::tickets::guided_size(pool.remaining(), pool.ranks(), 1, 256);
            const ranks::tickets::Claim claim = pool.take(static_cast<std::uint32_t>(part));
            claimed += claim.range.count;
            if (claim.state == ranks::tickets::Claim::State::dry) {
                [[maybe_unused]] const ranks::tickets::Install done = pool.install(
                    {kBatch, first += ranks::tickets::kMostTickets, ranks::tickets::kMostTickets});
            }
        }
        return claimed;
    });
    pool.revoke(kBatch);
}

void with_texts(Bench& bench, ranks::tickets::TicketPool& pool) {
    const std::vector<std::string> texts(1000,
                                         "gzip -9 < /usr/share/doc/package/changelog > out/changelog.gz");
    bench.all_ranks("node word with a 61-byte text copied out", [&] {
        std::uint64_t claimed = 0;
        for (std::uint64_t i = 0; i < kClaimsPerLook; ++i) {
            const ranks::tickets::Claim claim = pool.take(1);
            if (claim.state == ranks::tickets::Claim::State::claimed && pool.texts(claim)) ++claimed;
            if (claim.state == ranks::tickets::Claim::State::dry) {
                [[maybe_unused]] const ranks::tickets::Install done = pool.install({kBatch, 0, 1000}, texts);
            }
        }
        return claimed;
    });
}

void counter_window(Bench& bench) {
    auto window = ranks::mpi::CounterWindow::open(bench.session(), 1);
    if (!window) {
        if (bench.session().rank() == 0) std::printf("counter window: %s\n", window.error().message.c_str());
        return;
    }
    bench.all_ranks("counter window (MPI_Fetch_and_op + flush)", [&] {
        for (std::uint64_t i = 0; i < kClaimsPerLook; ++i) (*window)->add(0, 1).or_throw();
        return kClaimsPerLook;
    });
}

// Rank 0 answers and never sleeps; the others request one ticket after another.
void by_message(Bench& bench, ranks::mpi::MpiTransport& transport) {
    bench.meet();
    const bool server = bench.session().rank() == 0;
    const PeerId manager(0);
    std::uint64_t answers = 0;
    std::vector<Arrival> inbox;
    const Instant start = instant_now();
    if (!server) transport.send(manager, "1");
    while (instant_now() - start < bench.each()) {
        inbox.clear();
        transport.poll(inbox);
        for (const Arrival& arrival : inbox) {
            const auto* frame = std::get_if<Frame>(&arrival);
            if (!frame) continue;
            ++answers;
            transport.send(frame->peer, server ? std::to_string(answers) : "1");
        }
    }
    bench.row("by message, rank 0 awake", static_cast<double>(answers) / seconds_since(start), "claims/s");
    bench.meet();
    while (!transport.idle()) transport.poll(inbox);
}

// All other ranks flood rank 0.
void frame_rate(Bench& bench, ranks::mpi::MpiTransport& transport) {
    bench.meet();
    const bool receiver = bench.session().rank() == 0;
    std::uint64_t frames = 0;
    std::vector<Arrival> inbox;
    const Instant start = instant_now();
    while (instant_now() - start < bench.each()) {
        inbox.clear();
        transport.poll(inbox);
        frames += inbox.size();
        if (receiver || !transport.idle()) continue;
        for (int i = 0; i < 200; ++i) transport.send(PeerId(0), std::string(100, 'f'));
    }
    bench.row("frames of 100 bytes to rank 0", static_cast<double>(frames) / seconds_since(start),
              "frames/s");
    while (!transport.idle()) {
        transport.poll(inbox);
        inbox.clear();
    }
    bench.meet();
}

// Nobody sends; only rank 0 polls, like an idle loop between two sleeps.
void idle_poll(Bench& bench, ranks::mpi::MpiTransport& transport) {
    bench.meet();
    if (bench.session().rank() == 0) {
        std::vector<Arrival> inbox;
        for (int i = 0; i < 1000; ++i) transport.poll(inbox);
        constexpr int kPolls = 20000;
        const Instant start = instant_now();
        for (int i = 0; i < kPolls; ++i) transport.poll(inbox);
        bench.row("idle poll()", seconds_since(start) * 1e9 / kPolls, "ns");
    }
}

int run(Duration each) {
    auto session = ranks::mpi::MpiSession::start(ranks::mpi::read_launch_environment()).or_throw();
    if (!session->has_mpi())
        return std::puts("run it under mpirun with 2 or more ranks"), to_int(ExitCode::usage);
    auto transport = ranks::mpi::MpiTransport::open(*session).or_throw();
    const ranks::tickets::PoolShape shape{static_cast<std::uint32_t>(session->node_size()), 1 << 20};
    auto raw = ranks::mpi::open_node_segment(*session, 128).or_throw();
    auto segment =
        ranks::mpi::open_node_segment(*session, ranks::tickets::TicketPool::bytes_needed(shape)).or_throw();
    if (session->node_rank() == 0) ranks::tickets::TicketPool::format(segment->data(), shape);
    Bench bench(*session, each);
    if (session->rank() == 0)
        std::printf("%d ranks, %ld cores\n", session->size(), ::sysconf(_SC_NPROCESSORS_ONLN));
    bench.meet();
    ranks::tickets::TicketPool pool(segment->data(), shape, static_cast<std::uint32_t>(session->node_rank()));
    raw_atomic(bench, *raw);
    node_word(bench, pool);
    guided(bench, pool);
    with_texts(bench, pool);
    counter_window(bench);
    by_message(bench, *transport);
    frame_rate(bench, *transport);
    idle_poll(bench, *transport);
    transport.reset();
    session->finish(0);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(std::chrono::milliseconds(argc > 1 ? std::atoi(argv[1]) : kMilliseconds));
    } catch (const Failure& failure) {
        std::fprintf(stderr, "%s\n", failure.error.message.c_str());
        ::_exit(to_int(failure.error.code));
    }
}
