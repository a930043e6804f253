// Claims per second of every ticket path, one at a time and by all ranks together, and what the MPI transport
// costs. Run under mpirun with 2 or more ranks; rank 0 prints a table.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <string>

#include "transport/mpi_counter_window.h"
#include "transport/mpi_session.h"
#include "transport/mpi_shared_window.h"
#include "transport/mpi_transport.h"
#include "transport/ticket_pool.h"

namespace {

using namespace wq;
using namespace wq::transport;

constexpr Duration kTime = std::chrono::seconds(1);
constexpr std::uint64_t kClaimsPerLook = 256;  // at the clock
const BatchId kBatch(1);

double seconds_since(Instant start) {
    return std::chrono::duration<double>(instant_now() - start).count();
}

class Bench {
  public:
    explicit Bench(MpiSession& session) : session_(session) {}

    // `claim` makes kClaimsPerLook claims and returns how many succeeded.
    void all_ranks(const char* what, const std::function<std::uint64_t()>& claim) {
        meet();
        const Instant start = instant_now();
        std::uint64_t claims = 0;
        while (instant_now() - start < kTime) claims += claim();
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
    MpiSession& session() { return session_; }

  private:
    MpiSession& session_;
};

void raw_atomic(Bench& bench, Segment& segment) {
    auto& counter = *reinterpret_cast<std::atomic<std::uint64_t>*>(segment.data());
    bench.all_ranks("bare fetch_add in shared memory", [&] {
        for (std::uint64_t i = 0; i < kClaimsPerLook; ++i) counter.fetch_add(1);
        return kClaimsPerLook;
    });
}

void node_word(Bench& bench, TicketPool& pool) {
    std::uint64_t first = 0;
    bench.all_ranks("node word, one at a time", [&] {
        std::uint64_t claimed = 0;
        for (std::uint64_t i = 0; i < kClaimsPerLook; ++i) {
            const Claim claim = pool.take(1);
            if (claim.state == Claim::State::claimed) {
                ++claimed;
            } else if (claim.state == Claim::State::dry) {
                [[maybe_unused]] const Install done =
                    pool.install({kBatch, first += kMostTickets, kMostTickets});
            }
        }
        return claimed;
    });
    pool.revoke(kBatch);
}

void with_texts(Bench& bench, TicketPool& pool) {
    const std::vector<std::string> texts(1000,
                                         "gzip -9 < /usr/share/doc/package/changelog > out/changelog.gz");
    bench.all_ranks("node word with a 61-byte text copied out", [&] {
        std::uint64_t claimed = 0;
        for (std::uint64_t i = 0; i < kClaimsPerLook; ++i) {
            const Claim claim = pool.take(1);
            if (claim.state == Claim::State::claimed && pool.texts(claim)) ++claimed;
            if (claim.state == Claim::State::dry) {
                [[maybe_unused]] const Install done = pool.install({kBatch, 0, 1000}, texts);
            }
        }
        return claimed;
    });
}

void counter_window(Bench& bench) {
    auto window = CounterWindow::open(bench.session(), 1);
    if (!window) {
        if (bench.session().rank() == 0) std::printf("counter window: %s\n", window.error().message.c_str());
        return;
    }
    bench.all_ranks("counter window (MPI_Fetch_and_op + flush)", [&] {
        for (std::uint64_t i = 0; i < kClaimsPerLook; ++i) (*window)->add(0, 1).or_throw();
        return kClaimsPerLook;
    });
}

// Rank 0 answers, and is awake all the time; the others ask for one ticket after another.
void by_message(Bench& bench, MpiTransport& transport) {
    bench.meet();
    const bool server = bench.session().rank() == 0;
    const PeerId manager(0);
    std::uint64_t answers = 0;
    std::vector<Arrival> inbox;
    const Instant start = instant_now();
    if (!server) transport.send(manager, "1");
    while (instant_now() - start < kTime) {
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

// Every rank but 0 floods rank 0.
void frame_rate(Bench& bench, MpiTransport& transport) {
    bench.meet();
    const bool receiver = bench.session().rank() == 0;
    std::uint64_t frames = 0;
    std::vector<Arrival> inbox;
    const Instant start = instant_now();
    while (instant_now() - start < kTime) {
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

// Nobody sends; only rank 0 polls, as an idle loop does between two naps.
void idle_poll(Bench& bench, MpiTransport& transport) {
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

int run() {
    auto session = MpiSession::start(read_launch_environment()).or_throw();
    if (!session->has_mpi())
        return std::puts("run it under mpirun with 2 or more ranks"), to_int(ExitCode::usage);
    auto transport = MpiTransport::open(*session).or_throw();
    const PoolShape shape{static_cast<std::uint32_t>(session->node_size()), 1 << 20};
    auto raw = open_node_segment(*session, 128).or_throw();
    auto segment = open_node_segment(*session, TicketPool::bytes_needed(shape)).or_throw();
    if (session->node_rank() == 0) TicketPool::format(segment->data(), shape);
    Bench bench(*session);
    if (session->rank() == 0)
        std::printf("%d ranks, %ld cores\n", session->size(), ::sysconf(_SC_NPROCESSORS_ONLN));
    bench.meet();
    TicketPool pool(segment->data(), shape, static_cast<std::uint32_t>(session->node_rank()));
    raw_atomic(bench, *raw);
    node_word(bench, pool);
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

int main() {
    try {
        return run();
    } catch (const Failure& failure) {
        std::fprintf(stderr, "%s\n", failure.error.message.c_str());
        ::_exit(to_int(failure.error.code));
    }
}
