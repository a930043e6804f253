// What a JobExecutor costs. Usage:
//   bench_executor jobs COUNT QUEUE
//       small jobs per second through 2 workers, with queues of that size
//   bench_executor array MEGABYTES REPEATS
//       microseconds from put() until the worker has the array: median
//   bench_executor stream MEGABYTES REPEATS
//       the same when each array is filled first, and read by the worker: gigabytes per second
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "work_queue/job_executor.h"

namespace {

using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

int jobs(std::int64_t count, std::size_t queue) {
    wq::JobExecutor<std::int64_t, std::int64_t> executor(
        [](std::int64_t n) { return n * n; }, 2,
        {.max_queue_size_per_worker = queue, .max_queue_size_pin = 4 * queue});
    executor.start();
    const auto began = Clock::now();
    std::int64_t put = 0;
    std::int64_t sum = 0;
    std::int64_t taken = 0;
    while (taken < count) {
        while (put < count && executor.put(put)) ++put;
        for (auto result = executor.take(); result; result = executor.try_take()) {
            sum += *result->value;
            ++taken;
        }
    }
    const double seconds = Seconds(Clock::now() - began).count();
    if (sum != (count - 1) * count * (2 * count - 1) / 6) return 1;
    std::printf("%.0f\n", static_cast<double>(count) / seconds);
    return 0;
}

wq::Array array_of(std::size_t megabytes) {
    return wq::Array::of<std::uint8_t>({megabytes << 20});
}

int array(std::size_t megabytes, int repeats) {
    wq::JobExecutor executor([](wq::Batch batch) { return batch; }, 1);
    executor.start();
    wq::Batch batch;
    batch.set("array", array_of(megabytes));
    std::vector<double> micros;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        if (!executor.put(std::move(batch))) return 1;
        auto result = executor.take();
        if (!result || !*result) return 1;
        micros.push_back(Seconds(result->metadata.begun - result->metadata.created).count() * 1e6);
        batch = std::move(*result->value);
    }
    std::sort(micros.begin(), micros.end());
    std::printf("%.1f\n", micros[micros.size() / 2]);
    return 0;
}

int stream(std::size_t megabytes, int repeats) {
    wq::JobExecutor executor(
        [](const wq::Batch& batch) {
            std::uint64_t sum = 0;
            for (const std::uint64_t word : batch.array("array").values<std::uint64_t>()) sum += word;
            wq::Batch out;
            out.set("sum", static_cast<std::int64_t>(sum));
            return out;
        },
        1);
    executor.start();
    const auto began = Clock::now();
    int taken = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        wq::Batch batch;
        batch.set("array", wq::Array::of<std::uint64_t>({megabytes << 17}));
        std::memset(batch.array("array").mutable_bytes().data(), repeat, megabytes << 20);
        while (!executor.put(std::move(batch))) taken += executor.take()->value.has_value();
    }
    while (const auto result = executor.take()) taken += result->value.has_value();
    if (taken != repeats) return 1;
    const double gigabytes = static_cast<double>(megabytes) * repeats / 1024;
    std::printf("%.2f\n", gigabytes / Seconds(Clock::now() - began).count());
    return 0;
}

}  // namespace

int main(int words, char** word) {
    const std::string what = words == 4 ? word[1] : "";
    if (what == "jobs") return jobs(std::atoll(word[2]), std::strtoull(word[3], nullptr, 10));
    if (what == "array") return array(std::strtoull(word[2], nullptr, 10), std::atoi(word[3]));
    if (what == "stream") return stream(std::strtoull(word[2], nullptr, 10), std::atoi(word[3]));
    std::fprintf(
        stderr,
        "usage: bench_executor jobs COUNT QUEUE | array MEGABYTES REPEATS | stream MEGABYTES REPEATS\n");
    return 64;
}
