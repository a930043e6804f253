// Every ticket of a batch is claimed exactly once: from the node's word, refilled through the counter window
// (if this MPI has one) and by messages of rank 0. Marks in shared memory count the claims of each ticket.
#include <poll.h>

#include <atomic>
#include <deque>
#include <vector>

#include "mpi/rank_program.h"
#include "ranks/mpi/mpi_shared_window.h"
#include "ranks/mpi/mpi_ticket_paths.h"
#include "ranks/mpi/mpi_transport.h"
#include "ranks/tickets/ticket_pool.h"

namespace wq::test {
namespace {

using namespace ranks::mpi;
using namespace net::frames;
using namespace ranks::tickets;

constexpr std::uint64_t kTickets = 300000;
constexpr std::uint32_t kRefill = 1000;
const BatchId kBatch(1);
const PeerId kManager(0);

// The source of this rank's ranges. nullopt: the batch is used up.
class Source {
  public:
    virtual ~Source() = default;
    virtual std::optional<TicketRange> next() = 0;
    virtual void serve() {}  // rank 0's part, called while it works
};

std::optional<TicketRange> cut(std::uint64_t first) {
    if (first >= kTickets) return std::nullopt;
    return TicketRange{kBatch, first,
                       static_cast<std::uint32_t>(std::min<std::uint64_t>(kRefill, kTickets - first))};
}

class FromWindow final : public Source {
  public:
    explicit FromWindow(CounterWindow& window) : window_(window) {}
    std::optional<TicketRange> next() override { return cut(window_.add(1, kRefill).value()); }

  private:
    CounterWindow& window_;
};

class ByMessage final : public Source {
  public:
    ByMessage(MpiSession& session, MpiTransport& transport) : session_(session), transport_(transport) {}

    std::optional<TicketRange> next() override {
        if (session_.rank() == 0) return cut(take());
        if (at_end_) return std::nullopt;  // rank 0 tells each rank once
        transport_.send(kManager, "more");
        for (;;) {
            std::vector<Arrival> inbox;
            transport_.poll(inbox);
            for (const Arrival& arrival : inbox) {
                const auto* frame = std::get_if<Frame>(&arrival);
                if (!frame) continue;
                const auto range = cut(std::stoull(frame->bytes));
                at_end_ = !range;
                return range;
            }
        }
    }

    void serve() override {
        if (session_.rank() != 0) return;
        std::vector<Arrival> inbox;
        transport_.poll(inbox);
        for (const Arrival& arrival : inbox) {
            const auto* frame = std::get_if<Frame>(&arrival);
            if (!frame) continue;
            const std::uint64_t first = take();
            transport_.send(frame->peer, std::to_string(first));
            if (first >= kTickets) ++told_the_end_;
        }
    }

    bool all_know_the_end() const { return told_the_end_ >= session_.size() - 1 && transport_.idle(); }

  private:
    std::uint64_t take() {
        const std::uint64_t first = next_;
        next_ += next_ < kTickets ? kRefill : 0;
        return first;
    }

    MpiSession& session_;
    MpiTransport& transport_;
    std::uint64_t next_ = 0;
    int told_the_end_ = 0;
    bool at_end_ = false;
};

using Marks = std::atomic<std::uint32_t>;

void mark(Marks* marks, const TicketRange& range) {
    for (std::uint32_t i = 0; i < range.count; ++i) CHECK(marks[range.first + i].fetch_add(1) == 0);
}

void claim_all(TicketPool& pool, Source& source, Marks* marks) {
    for (bool more = true; more;) {
        source.serve();
        const Claim claim = pool.take(7);
        // A claimer that was paused for long may lose the meaning of its tickets: the pool counts them.
        if (claim.state == Claim::State::overwritten) continue;
        if (claim.state == Claim::State::claimed) {
            mark(marks, claim.range);
            continue;
        }
        const auto range = source.next();
        if (range && pool.install(*range) == Install::lost) mark(marks, *range);
        more = range.has_value() || pool.remaining() > 0;
    }
}

// Collective: a new segment for each path, so that none sees another's tickets.
struct Ground {
    explicit Ground(MpiSession& session) {
        shape.ranks = static_cast<std::uint32_t>(session.node_size());
        pool = open_node_segment(session, TicketPool::bytes_needed(shape)).or_throw();
        marks = open_node_segment(session, kTickets * sizeof(Marks)).or_throw();
        if (session.node_rank() == 0) TicketPool::format(pool->data(), shape);
        CHECK(session.gather_node("formatted").ok());
    }
    Marks* all_marks() const { return reinterpret_cast<Marks*>(marks->data()); }
    // Collective: adds up all nodes' marks, one byte per ticket. No ticket is claimed twice, and the number
    // of unmarked ones equals what the ranks' pools have counted as overwritten.
    void check_all_claimed_once(MpiSession& session, std::uint64_t overwritten) const {
        std::string own;
        for (std::uint64_t ticket = 0; session.node_rank() == 0 && ticket < kTickets; ++ticket) {
            own.push_back(static_cast<char>(all_marks()[ticket].load()));
        }
        std::vector<int> times(kTickets);
        for (const std::string& node : session.gather_world(own).or_throw()) {
            for (std::size_t ticket = 0; ticket < node.size(); ++ticket) times[ticket] += node[ticket];
        }
        std::uint64_t unmarked = 0;
        for (const int claims : times) {
            CHECK(claims <= 1);
            unmarked += claims == 0 ? 1 : 0;
        }
        std::uint64_t all_overwritten = 0;
        for (const std::string& count : session.gather_world(std::to_string(overwritten)).or_throw())
            all_overwritten += std::stoull(count);
        CHECK(unmarked == all_overwritten);
    }
    PoolShape shape;
    std::unique_ptr<Segment> pool;
    std::unique_ptr<Segment> marks;
};

void by_message(MpiSession& session, MpiTransport& transport) {
    const Ground ground(session);
    TicketPool pool(ground.pool->data(), ground.shape, static_cast<std::uint32_t>(session.node_rank()));
    ByMessage source(session, transport);
    claim_all(pool, source, ground.all_marks());
    while (session.rank() == 0 && !source.all_know_the_end()) source.serve();
    CHECK(session.gather_world("done").ok());
    ground.check_all_claimed_once(session, pool.overwritten());
}

void through_window(MpiSession& session, CounterWindow& window) {
    const Ground ground(session);
    TicketPool pool(ground.pool->data(), ground.shape, static_cast<std::uint32_t>(session.node_rank()));
    FromWindow source(window);
    claim_all(pool, source, ground.all_marks());
    CHECK(session.gather_world("done").ok());
    ground.check_all_claimed_once(session, pool.overwritten());
    if (session.rank() == 0) CHECK(window.exchange(1, std::uint64_t{1} << 62).value() >= kTickets);
    CHECK(session.gather_world("revoked").ok());
    CHECK(!source.next());
}

void choose_path(MpiSession& session, CounterWindow* window, const std::string& problem) {
    TicketPathOptions options;
    options.each = std::chrono::milliseconds(50);
    const TicketPaths usual = measure_ticket_paths(session, window, problem, options).or_throw();
    CHECK(!usual.why.empty());
    if (session.size() == 1) return;
    options.claimer = 1;
    const TicketPaths forced = measure_ticket_paths(session, window, problem, options).or_throw();
    CHECK(!window || forced.message_per_second > 0);
    if (session.rank() == 0) std::printf("%s\n%s\n", usual.why.c_str(), forced.why.c_str());
}

int rank_main(GuardLink& guard) {
    auto session = start_rank(guard);
    auto transport = MpiTransport::open(*session).or_throw();
    auto window = CounterWindow::open(*session, 2);
    const std::string problem = window.ok() ? "" : window.error().message;
    if (!window.ok() && session->rank() == 0) std::printf("no window: %s\n", problem.c_str());
    choose_path(*session, window.ok() ? window->get() : nullptr, problem);
    guard.mpi_ready(session->rank());
    by_message(*session, *transport);
    if (window.ok()) through_window(*session, **window);
    CHECK(session->gather_world("end").ok());
    transport.reset();
    CHECK(session->finish(1));
    guard.mpi_finalized();
    return 0;
}

}  // namespace
}  // namespace wq::test

int main() {
    return wq::test::run_rank(wq::test::rank_main);
}
