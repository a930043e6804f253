// guard_test SCENARIO CODE: the script guard_test runs it under mpirun. Rank 0 ends with CODE.
//
//   kill SEED   some ranks other than 0 kill themselves at random moments under message load; rank 0 must
//               still hear all others and must be told of each loss
//   finalize    nobody dies, all leave through MPI_Finalize
//   lose-0      rank 0 kills itself
//   early       the last rank kills itself between mpi_starting() and MPI_Init
//   early-exit  the last rank exits with 0 there
//   early-init  the last rank kills itself after MPI_Init, before mpi_ready()
//   guard       rank 1 kills its guard
//   no-mpi      all ranks exit with CODE without MPI
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <random>
#include <set>

#include "mpi/rank_program.h"
#include "ranks/mpi/mpi_transport.h"

namespace wq::test {
namespace {

using namespace ranks::mpi;
using namespace net::frames;

struct Order {
    std::string scenario;
    int code = 0;
    std::uint64_t seed = 0;
};

const PeerId kManager(0);

void pause_briefly() {
    ::poll(nullptr, 0, 1);
}

bool is_last_rank_of_environment() {
    const char* rank = ::getenv("OMPI_COMM_WORLD_RANK");
    const char* size = ::getenv("OMPI_COMM_WORLD_SIZE");
    if (!rank) rank = ::getenv("PMI_RANK");
    if (!size) size = ::getenv("PMI_SIZE");
    if (!rank) rank = ::getenv("SLURM_PROCID");
    if (!size) size = ::getenv("SLURM_STEP_NUM_TASKS");
    return rank && size && ::atoi(rank) == ::atoi(size) - 1;
}

// The ranks that die, and after how many frames.
std::vector<int> deaths(const MpiSession& session, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<int> after(static_cast<std::size_t>(session.size()), -1);
    for (std::size_t rank = 1; rank < after.size(); ++rank) {
        if (random() % 2 == 0) after[rank] = static_cast<int>(random() % 3000);
    }
    return after;
}

// A worker floods rank 0 until it dies or rank 0 stops it.
int worker(MpiTransport& transport, int dies_after) {
    std::vector<Arrival> inbox;
    for (int number = 0;; ++number) {
        if (number == dies_after) ::raise(SIGKILL);
        if (number < 5000)
            transport.send(kManager, std::string(static_cast<std::size_t>(number % 9000), 'w'));
        inbox.clear();
        transport.poll(inbox);
        for (const Arrival& arrival : inbox) {
            if (std::holds_alternative<Frame>(arrival)) return 3;
        }
        if (number >= 5000) pause_briefly();
    }
}

// Rank 0 must receive all 5000 frames of each survivor and a Left for each dead rank.
int manager(MpiSession& session, MpiTransport& transport, const std::vector<int>& dies_after, int code) {
    std::set<std::uint32_t> open_ends;
    for (std::uint32_t rank = 1; rank < dies_after.size(); ++rank) open_ends.insert(rank);
    std::vector<std::uint64_t> heard(dies_after.size());
    std::vector<Arrival> inbox;
    while (!open_ends.empty()) {
        inbox.clear();
        if (!transport.poll(inbox)) pause_briefly();
        for (const Arrival& arrival : inbox) {
            if (const auto* left = std::get_if<Left>(&arrival)) {
                CHECK(dies_after[left->peer.value()] >= 0);
                open_ends.erase(left->peer.value());
            } else if (const auto* frame = std::get_if<Frame>(&arrival)) {
                CHECK(frame->bytes.size() == heard[frame->peer.value()]++ % 9000);
                if (heard[frame->peer.value()] == 5000) open_ends.erase(frame->peer.value());
            }
        }
    }
    for (std::uint32_t rank = 1; rank < dies_after.size(); ++rank) transport.send(PeerId(rank), "go");
    while (!transport.idle()) transport.poll(inbox);
    session.note_lost_rank();
    return code;
}

int with_deaths(MpiSession& session, MpiTransport& transport, const Order& order) {
    const std::vector<int> dies_after = deaths(session, order.seed);
    if (session.rank() == 0) return manager(session, transport, dies_after, order.code);
    session.note_lost_rank();
    return worker(transport, dies_after[static_cast<std::size_t>(session.rank())]);
}

[[noreturn]] void wait_for_the_end() {
    for (;;) ::pause();
}

int rank_main(GuardLink& guard, const Order& order) {
    if (order.scenario == "no-mpi") return order.code;
    if ((order.scenario == "early" || order.scenario == "early-exit") && is_last_rank_of_environment()) {
        guard.mpi_starting();
        if (order.scenario == "early-exit") ::_exit(0);
        ::raise(SIGKILL);
    }
    auto session = start_rank(guard);
    if (order.scenario == "early-init" && session->rank() == session->size() - 1) ::raise(SIGKILL);
    auto transport = MpiTransport::open(*session).or_throw();
    guard.mpi_ready(session->rank());
    if (order.scenario == "kill") {
        const int code = with_deaths(*session, *transport, order);
        ::_exit(code);
    }
    if (order.scenario == "lose-0" && session->rank() == 0) ::raise(SIGKILL);
    if (order.scenario == "guard" && session->rank() == 1) ::kill(::getppid(), SIGKILL);
    if (order.scenario != "finalize") wait_for_the_end();
    const int code = session->rank() == 0 ? order.code : 0;
    transport.reset();
    CHECK(session->finish(code));
    guard.mpi_finalized();
    return code;
}

}  // namespace
}  // namespace wq::test

int main(int count, char** arguments) {
    wq::test::Order order;
    if (count > 1) order.scenario = arguments[1];
    if (count > 2) order.code = ::atoi(arguments[2]);
    if (count > 3) order.seed = ::strtoull(arguments[3], nullptr, 10);
    wq::ranks::mpi::GuardOptions options;
    options.say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    return wq::ranks::mpi::run_guarded(
        wq::ranks::mpi::read_launch_environment(),
        [&](wq::ranks::mpi::GuardLink& guard) { return wq::test::rank_main(guard, order); }, options);
}
