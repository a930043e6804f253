// Rates of SliceQueue in one process, and of what it is made of; in turns, the best round of each.
// Usage: bench_slices [ROUNDS]. Prints tab-separated: what, value, unit.
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "slices/plan/plan.h"
#include "work_queue/slice_queue.h"

namespace {

using namespace wq;

constexpr std::uint64_t taken = 2'000'000;

double seconds_of(const std::function<void()>& work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

SliceOptions many(bool shuffle) {
    SliceOptions options;
    options.num_slices = taken;
    options.shuffle = shuffle;
    options.seed = 1;
    options.say = [](const std::string&) {};  // each round renames the file of the one before
    options.records = [](const std::string&) { return std::uint64_t{1} << 40; };
    return options;
}

void take_all(SliceQueue& slices) {
    std::uint64_t seen = 0;
    while (const auto slice = slices.take()) ++seen;
    if (seen != taken) std::abort();
}

double take_seconds(bool shuffle) {
    SliceQueue slices({"rows"}, many(shuffle));
    return seconds_of([&] { take_all(slices); });
}

// With a sample every 100 ms, ten times as often as usual.
double take_seconds_with_summary(bool shuffle, const std::string& folder) {
    SliceQueue slices({"rows"}, many(shuffle));
    slices.add_summary({.hdf5 = folder + "/s.h5", .interval = 0.1});
    return seconds_of([&] { take_all(slices); });
}

double permutation_seconds(std::uint64_t slices) {
    auto order = slices::plan::SliceOrder::make({slices, 1, true, 1}).or_throw();
    std::uint64_t sum = 0;
    const double seconds = seconds_of([&] {
        for (std::uint64_t n = 0; n < taken; ++n) sum += order.slice_at(n * 7919 % slices);
    });
    return sum == 1 ? 0 : seconds;  // sum is used
}

void print(const char* what, double value, const char* unit) {
    std::printf("%s\t%.3g\t%s\n", what, value, unit);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
    char folder[] = "/tmp/wq-bench-slices-XXXXXX";
    if (::mkdtemp(folder) == nullptr) return 1;
    double order = 1e9;
    double shuffled = 1e9;
    double summary = 1e9;
    double thousand = 1e9;
    double trillion = 1e9;
    for (int round = 0; round < rounds; ++round) {
        order = std::min(order, take_seconds(false));
        shuffled = std::min(shuffled, take_seconds(true));
        summary = std::min(summary, take_seconds_with_summary(true, folder));
        thousand = std::min(thousand, permutation_seconds(1000));
        trillion = std::min(trillion, permutation_seconds(1'000'000'000'000));
    }
    std::filesystem::remove_all(folder);
    const double million = double(taken) / 1e6;
    print("take() with lease and commit, in order", million / order, "M/s (goal: 10)");
    print("take() with lease and commit, shuffled", million / shuffled, "M/s");
    print("the same with statistics ten times a second", shuffled / summary,
          "of the rate without (goal: 0.97)");
    print("an element of a permutation of 1,000 slices", thousand / double(taken) * 1e9, "ns (goal: 50)");
    print("an element of a permutation of 10^12 slices", trillion / double(taken) * 1e9, "ns (goal: 50)");
}
