// Every rank sends every other one a few thousand frames of all sizes at once; each must arrive complete,
// once and in order.
#include <algorithm>
#include <chrono>
#include <random>

#include "mpi/rank_program.h"
#include "ranks/mpi/mpi_transport.h"

namespace wq::test {
namespace {

using namespace ranks::mpi;
using namespace net::frames;

constexpr std::uint32_t kFrames = 2000;

std::string frame_between(int from, int to, std::uint32_t number) {
    std::mt19937 random(static_cast<std::uint32_t>(from * 1000 + to) * 100000 + number);
    const std::size_t size = number % 50 == 0 ? random() % 60000 : random() % 100;
    std::string frame(size, '\0');
    for (char& c : frame) c = static_cast<char>(random());
    return frame;
}

class Exchange {
  public:
    Exchange(MpiSession& session, MpiTransport& transport)
        : session_(session), transport_(transport), heard_(static_cast<std::size_t>(session.size())) {}

    void run() {
        std::uint32_t sent = 0;
        while (sent < kFrames || !all_heard() || !transport_.idle()) {
            for (int burst = 0; burst < 100 && sent < kFrames; ++burst, ++sent) send_round(sent);
            std::vector<Arrival> inbox;
            transport_.poll(inbox);
            for (const Arrival& arrival : inbox) take(arrival);
        }
        CHECK(joined_ == session_.size() - 1);
    }

  private:
    void send_round(std::uint32_t number) {
        for (int to = 0; to < session_.size(); ++to) {
            if (to == session_.rank()) continue;
            transport_.send(PeerId(static_cast<std::uint32_t>(to)),
                            frame_between(session_.rank(), to, number));
        }
    }

    void take(const Arrival& arrival) {
        CHECK(!std::holds_alternative<Left>(arrival));
        if (std::holds_alternative<Joined>(arrival)) {
            ++joined_;
            return;
        }
        const Frame& frame = std::get<Frame>(arrival);
        std::uint32_t& number = heard_[frame.peer.value()];
        CHECK(frame.bytes == frame_between(static_cast<int>(frame.peer.value()), session_.rank(), number));
        const std::vector<int>& mates = session_.node_mates();
        const bool is_mate =
            std::find(mates.begin(), mates.end(), static_cast<int>(frame.peer.value())) != mates.end();
        CHECK(frame.close_by == is_mate);
        ++number;
    }

    bool all_heard() const {
        for (int rank = 0; rank < session_.size(); ++rank) {
            if (rank != session_.rank() && heard_[static_cast<std::size_t>(rank)] < kFrames) return false;
        }
        return true;
    }

    MpiSession& session_;
    MpiTransport& transport_;
    std::vector<std::uint32_t> heard_;
    int joined_ = 0;
};

void gathers_by_rank(const MpiSession& session) {
    const auto blobs = session.gather_world("rank " + std::to_string(session.rank()));
    CHECK(blobs.ok());
    CHECK(static_cast<int>(blobs->size()) == session.size());
    for (int rank = 0; rank < session.size(); ++rank) {
        CHECK((*blobs)[static_cast<std::size_t>(rank)] == "rank " + std::to_string(rank));
    }
    CHECK(session.gather_node("").value().size() == static_cast<std::size_t>(session.node_size()));
    CHECK(session.node_mates()[static_cast<std::size_t>(session.node_rank())] == session.rank());
}

int rank_main(GuardLink& guard) {
    auto session = start_rank(guard);
    CHECK(session->has_mpi());
    auto opened = MpiTransport::open(*session, {.receives = 16, .most_outstanding = 8});
    CHECK(opened.ok());
    auto transport = std::move(opened).value();
    guard.mpi_ready(session->rank());
    gathers_by_rank(*session);
    Exchange(*session, *transport).run();
    CHECK(transport->counts().errors == 0);
    CHECK(transport->counts().watched == static_cast<std::uint64_t>(session->node_size() - 1));
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
