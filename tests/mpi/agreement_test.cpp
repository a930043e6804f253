// MPI calls that fail on one rank only: all ranks must learn of it, continue the same way and reach the next
// collective. The calls are replaced through MPI's profiling interface; the test's time limit kills a rank
// that waits forever.
#include <mpi.h>

#include <set>

#include "mpi/rank_program.h"
#include "ranks/mpi/mpi_shared_window.h"
#include "ranks/mpi/mpi_ticket_paths.h"

namespace {

// The call that fails here, and the rank.
const char* broken_call = "";
int broken_rank = -1;
int own_rank = -1;

bool is_broken(const char* call) {
    return own_rank == broken_rank && std::string(call) == broken_call;
}
// Makes the call in any case: most are collective, and the other ranks must return from them.
int unless_broken(const char* call, int code) {
    return is_broken(call) ? MPI_ERR_OTHER : code;
}

}  // namespace

extern "C" {
int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
    return unless_broken("MPI_Win_allocate", PMPI_Win_allocate(size, unit, info, comm, base, window));
}
int MPI_Win_lock_all(int assertion, MPI_Win window) {
    return is_broken("MPI_Win_lock_all") ? MPI_ERR_OTHER : PMPI_Win_lock_all(assertion, window);
}
int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
    return unless_broken("MPI_Win_allocate_shared",
                         PMPI_Win_allocate_shared(size, unit, info, comm, base, window));
}
int MPI_Win_shared_query(MPI_Win window, int rank, MPI_Aint* size, int* unit, void* base) {
    return unless_broken("MPI_Win_shared_query", PMPI_Win_shared_query(window, rank, size, unit, base));
}
}

namespace wq::test {
namespace {

using namespace ranks::mpi;
using namespace ranks::tickets;

// All ranks' results of a step: one line for each different one.
std::set<std::string> answers(const MpiSession& session, const Status& mine) {
    std::set<std::string> all;
    for (std::string& one : session.gather_world(mine ? "well" : mine.error().message).or_throw())
        all.insert(std::move(one));
    return all;
}

Status open(MpiSession& session, const std::string& call) {
    if (call == "MPI_Win_allocate" || call == "MPI_Win_lock_all") {
        const auto window = CounterWindow::open(session, 2);
        return window ? success() : window.error();
    }
    const auto segment = open_node_segment(session, 1000);
    return segment ? success() : segment.error();
}

// Whether the call works where it is not broken.
bool breaks_on_one_rank(MpiSession& session, const char* call) {
    broken_rank = -1;
    const bool works = answers(session, open(session, call)) == std::set<std::string>{"well"};
    for (const int rank : {0, session.size() - 1}) {
        broken_call = call;
        broken_rank = rank;
        const std::set<std::string> all = answers(session, open(session, call));
        CHECK(all.size() == 1);
        CHECK(!works || all.begin()->find(call) == 0);
    }
    if (session.rank() == 0)
        std::printf("%s fails on one rank: all know%s\n", call, works ? "" : " (it always fails)");
    return works;
}

void agrees(const MpiSession& session) {
    CHECK(session.agree_world(success()).ok());
    const int last = session.size() - 1;
    const Status mine =
        session.rank() == last ? Status(Error{ExitCode::bad_input, "the last rank"}) : success();
    const Status all = session.agree_world(mine);
    CHECK(!all.ok());
    CHECK(all.error().code == ExitCode::bad_input);
    CHECK(all.error().message == "the last rank");
}

int rank_main(GuardLink& guard) {
    auto session = start_rank(guard);
    own_rank = session->rank();
    agrees(*session);
    for (const char* call : {"MPI_Win_lock_all", "MPI_Win_allocate_shared", "MPI_Win_shared_query"})
        breaks_on_one_rank(*session, call);
    CHECK(!session->must_exit());
    // A window that all ranks but one hold cannot be freed: no rank calls MPI_Finalize.
    const bool stuck = breaks_on_one_rank(*session, "MPI_Win_allocate");
    CHECK(session->must_exit() == stuck);
    guard.mpi_ready(session->rank());
    CHECK(session->gather_world("end").ok());
    CHECK(session->finish(1) == !stuck);
    std::fflush(nullptr);
    if (stuck) ::_exit(0);
    guard.mpi_finalized();
    return 0;
}

}  // namespace
}  // namespace wq::test

int main() {
    return wq::test::run_rank(wq::test::rank_main);
}
