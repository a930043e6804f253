// Events per second in the core, and memory per task: one shape, many workers, a ledger full of waiting
// tasks. Prints a table; arguments: the number of tasks and workers.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <string>
#include <vector>

#include "engine/policies/reactor.h"

namespace {

using namespace wq;
using namespace wq::engine::model;
using namespace wq::engine::policies;

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}
std::size_t heap_bytes() {
    return mallinfo2().uordblks;
}

struct Bench {
    Bench(std::uint64_t task_count, std::uint32_t worker_count) : tasks(task_count) {
        ReactorOptions options;
        options.expected_workers = worker_count;
        reactor = Reactor(options, now);
        for (std::uint32_t id = 0; id < worker_count; ++id)
            on(WorkerJoined{WorkerId(id), "node", {16, 64'000, 0, 0}, {}, false});
    }
    void on(const Event& event) {
        now.instant += std::chrono::microseconds(1);
        ++now.wall;
        ++events;
        actions.clear();
        reactor.on(event, now, actions);
        for (const Action& action : actions)
            if (const auto* lease = std::get_if<Lease>(&action)) out.push_back(*lease);
    }
    // Like the lines of a list: a thousand at a time, if `tagged` each with its own tags.
    void feed(bool tagged) {
        for (std::uint64_t id = 0; id < tasks;) {
            TaskRange range{TaskId(id), tagged ? 1 : std::min<std::uint64_t>(1000, tasks - id), {}, {}};
            if (tagged) range.groups = {{static_cast<std::uint32_t>(1 + id / 100), id % 100 == 99}};
            on(TasksAdded{range, {}, {}});
            id += range.count;
        }
        on(InputEnded{});
    }
    void run(std::int64_t wall_us) {
        while (!out.empty()) {
            const Lease lease = out.front();
            out.pop_front();
            Outcome outcome;
            outcome.wall_us = wall_us;
            on(WorkerHeard{lease.worker});
            on(TaskReported{lease.worker, lease.task, lease.attempt, outcome});
        }
    }

    std::uint64_t tasks;
    Now now{Instant(std::chrono::hours(1)), 0};
    Reactor reactor{ReactorOptions{}, now};
    std::vector<Action> actions;
    std::deque<Lease> out;
    std::uint64_t events = 0;
};

// A program's tasks: each with its own priority, submitted one at a time.
void measure_priorities(std::uint64_t tasks, std::uint32_t workers) {
    Bench bench(tasks, workers);
    const double started = cpu_seconds();
    for (std::uint64_t id = 0; id < tasks; ++id) {
        Shape shape;
        shape.priority = static_cast<double>((id * 7919) % tasks);
        bench.on(TasksAdded{{TaskId(id), 1, shape, {}}, {}, {}});
    }
    bench.on(InputEnded{});
    const double fed = cpu_seconds();
    bench.run(5'000'000);
    const double ended = cpu_seconds();
    const auto count = static_cast<double>(tasks);
    std::printf("%llu priorities %u workers: %8.0f tasks/s fed, %8.0f tasks/s%s\n",
                static_cast<unsigned long long>(tasks), workers, count / (fed - started),
                count / (ended - fed), bench.reactor.finished() ? "" : "  NOT FINISHED");
}

// Calls leased one by one, to workers with `functions` functions.
void measure_calls(std::uint64_t tasks, std::uint32_t workers, int functions) {
    Bench bench(0, 0);
    bench.tasks = tasks;
    WorkerJoined joined{{}, "node", {16, 64'000, 0, 0}, {}, false};
    for (int each = 0; each < functions; ++each)
        joined.features.push_back(std::string(function_feature) + "simulate_" + std::to_string(each));
    for (std::uint32_t id = 0; id < workers; ++id) {
        joined.worker = WorkerId(id);
        bench.on(joined);
    }
    Shape shape;
    shape.features.push_back(joined.features.back());
    bench.on(TasksAdded{{TaskId(0), tasks, shape, {}}, {}, {}});
    bench.on(InputEnded{});
    const double begun = cpu_seconds();
    bench.run(100);
    std::printf("%llu calls %u workers of %d functions: %8.0f tasks/s%s\n",
                static_cast<unsigned long long>(tasks), workers, functions,
                static_cast<double>(tasks) / (cpu_seconds() - begun),
                bench.reactor.finished() ? "" : "  NOT FINISHED");
}

// Calls by ticket, reported as ranges of `size`.
void measure_ranges(std::uint64_t tasks, std::uint64_t size) {
    ReactorOptions options;
    options.seal_batches = true;
    Bench bench(0, 1);
    bench.reactor = Reactor(options, bench.now);
    bench.on(WorkerJoined{WorkerId(0), "node", {2, 64'000, 0, 0}, {}, true});
    bench.on(TasksAdded{{TaskId(0), tasks, {}, {}}, {}, {}});
    bench.on(InputEnded{});
    const double begun = cpu_seconds();
    for (std::uint64_t first = 0; first < tasks; first += size) {
        RangeReported range{WorkerId(0), BatchId(1), {}, 0, 100};
        // Every other one arrives late, as from two ranks.
        const std::uint64_t other = (first / size) % 2 == 0 ? first + size : first - size;
        range.done.insert(
            {other < tasks ? other : first, std::min((other < tasks ? other : first) + size, tasks)});
        bench.on(range);
    }
    const double took = cpu_seconds() - begun;
    const auto ranges = static_cast<double>((tasks + size - 1) / size);
    std::printf("%llu calls by ranges of %llu: %6.0f M tasks/s, %5.2f us a range%s\n",
                static_cast<unsigned long long>(tasks), static_cast<unsigned long long>(size),
                static_cast<double>(tasks) / took / 1e6, took / ranges * 1e6,
                bench.reactor.finished() ? "" : "  NOT FINISHED");
}

// The placement of tasks on large nodes with GPUs: several sizes in turn, a few of each in a row, like the
// steps of a workflow.
void measure_placements(const char* what, std::uint64_t tasks, std::uint32_t workers,
                        const std::vector<Needs>& sizes) {
    Bench bench(0, 0);
    bench.tasks = tasks;
    for (std::uint32_t id = 0; id < workers; ++id)
        bench.on(WorkerJoined{WorkerId(id), "node", {256, 1'024'000, 0, 8}, {}, false});
    const double begun = cpu_seconds();
    constexpr std::uint64_t in_a_row = 10;
    for (std::uint64_t id = 0; id < tasks; id += in_a_row) {
        Shape shape;
        shape.needs = sizes[id / in_a_row % sizes.size()];
        bench.on(TasksAdded{{TaskId(id), std::min(in_a_row, tasks - id), shape, {}}, {}, {}});
    }
    bench.on(InputEnded{});
    const double fed = cpu_seconds();
    const std::size_t first = bench.out.size();
    bench.run(5'000'000);
    const double ended = cpu_seconds();
    std::printf(
        "%-34s %9llu tasks %5u workers of 256 cores: %6.2f us a placement while %zu find a place, "
        "%6.2f us with its end and report%s\n",
        what, static_cast<unsigned long long>(tasks), workers,
        (fed - begun) * 1e6 / static_cast<double>(first), first,
        (ended - fed) * 1e6 / static_cast<double>(tasks), bench.reactor.finished() ? "" : "  NOT FINISHED");
}

void measure(const char* what, std::uint64_t tasks, std::uint32_t workers, std::int64_t wall_us,
             bool tagged) {
    Bench bench(tasks, workers);
    const std::size_t empty = heap_bytes();
    const auto started = cpu_seconds();
    bench.feed(tagged);
    const auto fed = cpu_seconds();
    const std::size_t leases = bench.out.size() * (sizeof(Lease) + 300);  // count only waiting tasks, not
                                                                          // leased ones
    const double waiting = static_cast<double>(heap_bytes() - empty) - static_cast<double>(leases);
    bench.events = 0;
    const auto begun = cpu_seconds();
    bench.run(wall_us);
    const double took = cpu_seconds() - begun;
    const double feeding = fed - started;
    const double done = static_cast<double>(heap_bytes()) - static_cast<double>(empty);
    const auto count = static_cast<double>(tasks);
    std::printf(
        "%-34s %9llu tasks %5u workers: %8.0f tasks/s fed, %8.0f tasks/s, %9.0f events/s, %6.1f B waiting, "
        "%5.1f B done%s\n",
        what, static_cast<unsigned long long>(tasks), workers, count / feeding, count / took,
        static_cast<double>(bench.events) / took, std::max(waiting, 0.0) / count, std::max(done, 0.0) / count,
        bench.reactor.finished() ? "" : "  NOT FINISHED");
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as soon as it is measured
    const std::uint64_t tasks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
    const auto workers = static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000);
    measure("one shape, tasks of 5 s", tasks, workers, 5'000'000, false);
    measure("one shape, tasks of 5 s", tasks, 1, 5'000'000, false);
    measure("one shape, tasks of 1 ms, queued", tasks, workers, 1'000, false);
    measure("groups of 100", tasks, workers, 5'000'000, true);

    const Count half = Count::of_thousandths(500);
    const std::vector<Needs> whole_cores{{.cores = 1}, {.cores = 2}, {.cores = 5}, {.cores = 16}};
    const std::vector<Needs> gpus{{.gpus = 1}, {.gpus = half}};
    std::vector<Needs> mixed = whole_cores;
    mixed.insert(mixed.end(), gpus.begin(), gpus.end());
    mixed.push_back({.cores = 4, .gpus = 1});
    mixed.push_back({.cores = half});
    measure_placements("placed by cores", tasks, workers, whole_cores);
    measure_placements("placed by GPUs", tasks, workers, gpus);
    measure_placements("placed by both, and halves", tasks, workers, mixed);

    measure_priorities(20'000, 1);
    measure_priorities(20'000, workers);
    measure_priorities(tasks, workers);
    measure_calls(tasks, 4, 1);
    measure_calls(tasks, 4, 50);
    measure_ranges(10'000'000, 100);
    measure_ranges(10'000'000, 10'000);

    Bench bench(0, workers);
    const std::size_t before = heap_bytes();
    const double begun = cpu_seconds();
    bench.on(TasksAdded{{TaskId(0), 100'000'000, {}, {}}, {}, {}});
    const double took = cpu_seconds() - begun;
    std::printf("10^8 tasks in one range: %.1f ms with %zu leases, %zu KiB\n", took * 1e3, bench.out.size(),
                (heap_bytes() - before) / 1024);
    return 0;
}
