// Two ranks share slices, and rank 1 is four times as slow: how long all take, against an ideal division. A
// slice takes a fixed time on each rank, so the figure is that of the division alone, whatever else the
// machine does. Usage: mpirun -n 2 bench_makespan [SLICES [MILLISECONDS]]. Prints tab-separated: what, value,
// unit.
#include <poll.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "work_queue/mpi.h"
#include "work_queue/slice_queue.h"

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The work of a slice that takes so long.
void spend(double seconds) {
    const auto whole = static_cast<long>(seconds * 1e9);
    const timespec time{whole / 1'000'000'000, whole % 1'000'000'000};
    ::ppoll(nullptr, 0, &time, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 400;
    const double each = (argc > 2 ? std::atof(argv[2]) : 5) / 1e3;
    constexpr double slowdown = 4;
    wq::MpiSession mpi;
    wq::SliceOptions options;
    options.num_slices = count;
    options.records = [&](const std::string&) { return static_cast<std::uint64_t>(count); };
    wq::SliceQueue slices(mpi, {"rows"}, options);
    // The clock of this rank's own slices says what an even slower, or a faster, machine makes of the same
    // work.
    const double began = now();
    double own = 0;
    while (const auto slice = slices.take()) {
        const double before = now();
        spend(mpi.rank() == 1 ? slowdown * each : each);
        own += now() - before;
    }
    const double makespan = now() - began;
    if (mpi.rank() == 0) {
        const double mine = own / static_cast<double>(slices.taken());
        const double ideal = count * mine / (1 + 1 / slowdown);
        std::printf("makespan with one of two ranks 4 times slower\t%.3f\tof the ideal (goal: 1.05)\n",
                    makespan / ideal);
        std::printf("the same, half of the slices for each rank\t%.3f\tof the ideal\n",
                    count / 2 * slowdown * mine / ideal);
    }
    return 0;
}
