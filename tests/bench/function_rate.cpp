// Calls per second of a function that does almost nothing, mode `direct`, from the submission to the record
// of the last: an index range by ticket, and single calls with their own arguments and results, by lease and
// by ticket. Manager and workers share one thread of this process, as rank 0 does; each worker's calls run on
// a separate thread.
//
//   bench_functions [INDEXES [CALLS [ROUNDS]]]
//
// The best round counts, since other load only slows a round down.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/function_pool.h"

namespace {

using wq::engine::model::CallMode;
using wq::testing::FunctionPool;
using wq::testing::FunctionPoolOptions;

double seconds_since(wq::Instant begin) {
    return std::chrono::duration<double>(wq::instant_now() - begin).count();
}

wq::node::process::FunctionTable functions() {
    wq::node::process::FunctionTable table;
    table.add("echo", {[](std::string_view arguments) { return std::string(arguments); },
                       [](std::int64_t index) { static_cast<void>(index); }});
    return table;
}

struct Measured {
    double rate = 0;
    std::uint64_t reports = 0;
};

Measured range(const FunctionPoolOptions& options, std::uint64_t count) {
    FunctionPool pool(functions(), options);
    Measured measured;
    std::uint64_t done = 0;
    pool.recorder.on_range = [&](const wq::records::journal::RangeRecord& record) {
        done += record.tasks.count();
        ++measured.reports;
    };
    pool.recorder.on_task = [&](wq::records::recorder::Recorded&) { ++done; };
    pool.turn();
    pool.turn();
    const wq::Instant begin = wq::instant_now();
    pool.submit_range("echo", 0, count);
    pool.end_input();
    pool.run();
    measured.rate = static_cast<double>(count) / seconds_since(begin);
    if (done != count) std::abort();
    return measured;
}

Measured calls(const FunctionPoolOptions& options, std::uint64_t count) {
    FunctionPool pool(functions(), options);
    std::uint64_t done = 0;
    std::uint64_t bytes = 0;
    pool.recorder.on_task = [&](wq::records::recorder::Recorded& ended) {
        ++done;
        bytes += ended.output.result.size();
        pool.tasks.forget(ended.record.task);
    };
    pool.turn();
    pool.turn();
    const std::string arguments(20, 'x');
    const wq::Instant begin = wq::instant_now();
    // As a program does it: keeps a window of calls, submitting one for each that ended.
    std::uint64_t submitted = 0;
    constexpr std::uint64_t window = 20'000;
    pool.run_until([&] {
        for (; submitted < count && submitted < done + window; ++submitted) pool.submit("echo", arguments);
        return done == count;
    });
    pool.end_input();
    pool.run();
    if (bytes != count * arguments.size()) std::abort();
    return {static_cast<double>(count) / seconds_since(begin), 0};
}

template <class Run>
void measure(const char* what, int rounds, Run&& run) {
    Measured best;
    for (int round = 0; round < rounds; ++round) {
        const Measured one = run();
        if (one.rate > best.rate) best = one;
    }
    std::printf("%-44s %10.0f /s", what, best.rate);
    if (best.reports > 0) std::printf("  (%llu reports)", static_cast<unsigned long long>(best.reports));
    std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t indexes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000'000;
    const std::uint64_t singles = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 500'000;
    const int rounds = argc > 3 ? std::atoi(argv[3]) : 3;
    measure("range, direct, 1 worker by ticket", rounds,
            [&] { return range({.workers = 1, .tickets = true}, indexes); });
    measure("range, direct, 2 workers by ticket", rounds,
            [&] { return range({.workers = 2, .tickets = true}, indexes); });
    measure("range, direct, 1 worker by lease", rounds,
            [&] { return range({.workers = 1, .tickets = false}, singles); });
    measure("calls with results, direct, 1 worker by lease", rounds,
            [&] { return calls({.workers = 1, .tickets = false}, singles); });
    measure("calls with results, direct, 2 workers by lease", rounds,
            [&] { return calls({.workers = 2, .tickets = false}, singles); });
    measure("calls with results, direct, 2 by ticket", rounds,
            [&] { return calls({.workers = 2, .tickets = true}, singles); });
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("peak memory %ld MiB\n", usage.ru_maxrss / 1024);
}
