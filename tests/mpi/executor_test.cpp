// Executors in ranks: slices feed jobs, one of which kills its worker; the last rank is killed with its
// workers amid their jobs. Usage: executor [lost]
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "work_queue/job_executor.h"
#include "work_queue/mpi.h"
#include "work_queue/slice_queue.h"

namespace {

#define CHECK(condition) check((condition), #condition, __LINE__)
void check(bool fine, const char* what, int line) {
    if (fine) return;
    std::fprintf(stderr, "executor_test.cpp:%d: not so: %s\n", line, what);
    ::_exit(1);
}

struct Worker {
    int rank_before;  // a value that the session's processes do not know
    wq::Batch operator()(wq::Batch batch, const wq::JobContext& context) const {
        if (batch.integer("position") == 7 && context.attempt == 1) ::kill(::getpid(), SIGKILL);
        batch.set("worker", context.worker + 10 * rank_before);
        batch.set("array", wq::Array::of<double>({100, 100}));
        return batch;
    }
};

void stays_in_the_kernel(const wq::Batch&) {
    for (;;) ::pause();
}

void use(const wq::JobResult<>& result, int rank, std::set<std::int64_t>& seen) {
    CHECK(result.value.has_value());
    CHECK(result.value->integer("worker") / 10 == rank);
    CHECK(result.value->array("array").size() == 10000);
    CHECK(seen.insert(result.value->integer("position")).second);
}

void die_with_busy_workers(wq::MpiSession& mpi) {
    wq::JobExecutor endless(mpi, stays_in_the_kernel, 2);
    endless.start();
    while (endless.put(wq::Batch())) {
    }
    ::kill(::getpid(), SIGKILL);
}

int run(wq::MpiSession& mpi, bool lost) {
    wq::SliceQueue slices(mpi, {"a", "b"},
                          {.num_slices = 60, .records = [](const std::string&) { return 100; }});
    {
        // MPI's threads are there: only the session's own process can fork.
        bool refused = mpi.size() == 1;
        try {
            wq::JobExecutor plain(stays_in_the_kernel, 1);
        } catch (const wq::SetupError&) {
            refused = true;
        }
        CHECK(refused);
    }
    if (lost && mpi.rank() == mpi.size() - 1 && slices.take()) die_with_busy_workers(mpi);
    wq::JobExecutor executor(mpi, Worker{mpi.rank()}, 2, {.retries = 1});
    executor.start();
    std::set<std::int64_t> seen;
    std::size_t put = 0;
    while (const auto slice = slices.take()) {
        wq::Batch batch;
        batch.set("position", slice->position);
        while (!executor.put(std::move(batch))) use(*executor.take(), mpi.rank(), seen);
        ++put;
    }
    while (const auto result = executor.take()) use(*result, mpi.rank(), seen);
    CHECK(seen.size() == put);
    std::printf("rank %d came to the end\n", mpi.rank());
    return 0;
}

}  // namespace

int main(int words, char** word) {
    wq::MpiSession mpi;
    return run(mpi, words > 1 && std::strcmp(word[1], "lost") == 0);
}
