// Common to the test programs under mpirun: checks that print their line and end the job.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "ranks/mpi/guard.h"
#include "ranks/mpi/mpi_session.h"

namespace wq::test {

inline void check(bool fine, const char* what, const char* file, int line) {
    if (fine) return;
    std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    ::_exit(1);
}
#define CHECK(condition) ::wq::test::check((condition), #condition, __FILE__, __LINE__)

// run_guarded() for a test program; its start may throw.
inline int run_rank(const std::function<int(ranks::mpi::GuardLink&)>& rank_main) {
    ranks::mpi::GuardOptions options;
    options.say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    const auto guarded = [&](ranks::mpi::GuardLink& guard) {
        try {
            return rank_main(guard);
        } catch (const Failure& failure) {
            std::fprintf(stderr, "%s\n", failure.error.message.c_str());
            ::_exit(1);
        }
    };
    return ranks::mpi::run_guarded(ranks::mpi::read_launch_environment(), guarded, options);
}

// The start-up of every rank.
inline std::unique_ptr<ranks::mpi::MpiSession> start_rank(ranks::mpi::GuardLink& guard) {
    guard.mpi_starting();
    auto session = ranks::mpi::MpiSession::start(ranks::mpi::read_launch_environment());
    if (!session) std::fprintf(stderr, "%s\n", session.error().message.c_str());
    CHECK(session.ok());
    return std::move(session).value();
}

}  // namespace wq::test
