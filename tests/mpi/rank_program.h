// What the test programs under mpirun share: checks that name their line and end the job.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "transport/guard.h"
#include "transport/mpi_session.h"

namespace wq::test {

inline void check(bool fine, const char* what, const char* file, int line) {
    if (fine) return;
    std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    ::_exit(1);
}
#define CHECK(condition) ::wq::test::check((condition), #condition, __FILE__, __LINE__)

// run_guarded() with what a test program does, whose start may throw.
inline int run_rank(const std::function<int(transport::GuardLink&)>& rank_main) {
    transport::GuardOptions options;
    options.tell = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    const auto guarded = [&](transport::GuardLink& guard) {
        try {
            return rank_main(guard);
        } catch (const Failure& failure) {
            std::fprintf(stderr, "%s\n", failure.error.message.c_str());
            ::_exit(1);
        }
    };
    return transport::run_guarded(transport::read_launch_environment(), guarded, options);
}

// Start-up as every rank of ours does it.
inline std::unique_ptr<transport::MpiSession> start_rank(transport::GuardLink& guard) {
    guard.mpi_starting();
    auto session = transport::MpiSession::start(transport::read_launch_environment());
    if (!session) std::fprintf(stderr, "%s\n", session.error().message.c_str());
    CHECK(session.ok());
    return std::move(session).value();
}

}  // namespace wq::test
