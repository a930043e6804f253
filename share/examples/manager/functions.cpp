// Calls of functions with typed arguments and results, and a range of a hundred thousand calls. This program
// is also the worker:
//   functions &
//   functions worker --contact contact
#include <work_queue/call.h>
#include <work_queue/functions.h>
#include <work_queue/manager.h>
#include <work_queue/worker.h>

#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

double mean(const std::vector<double>& values) {
    if (values.empty()) throw std::invalid_argument("no values");
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Halves even numbers, else multiplies by three and adds one, until the number is one.
void collatz(std::int64_t number) {
    constexpr int limit = 340;
    int steps = 0;
    for (; number != 1; ++steps) number = number % 2 == 0 ? number / 2 : 3 * number + 1;
    if (steps > limit) throw std::runtime_error(std::to_string(steps) + " steps");
}

int manage() {
    wq::ManagerOptions options;
    options.port = 0;
    options.contact_file = "contact";
    wq::Manager manager(options);
    std::printf("start workers with: functions worker --contact contact\n");
    std::fflush(stdout);

    // Each in a child process, so that a crash fails only the task.
    for (const int count : {10, 100, 1000, 0}) {
        std::vector<double> values(static_cast<std::size_t>(count));
        std::iota(values.begin(), values.end(), 1.0);
        manager.submit(wq::Task::call("mean", values).tag(std::to_string(count)).priority(count));
    }
    while (!manager.empty()) {
        const auto task = manager.wait();
        if (!task) continue;
        if (task->ok())
            std::printf("mean of 1 to %s: %g\n", task->tag().c_str(), task->result_as<double>());
        else
            std::printf("mean of 1 to %s: %s\n", task->tag().c_str(), task->reason().c_str());
    }

    // In the worker itself, a hundred thousand in one submission. Only failed calls return one by one.
    manager.submit_range("collatz", 1, 100'001, wq::CallMode::direct);
    std::uint64_t done = 0;
    while (!manager.empty()) {
        const auto task = manager.wait();
        if (!task) continue;
        if (task->kind() == wq::TaskKind::range)
            done = task->progress().done_total;
        else
            std::printf("%lld: %s\n", static_cast<long long>(task->index()), task->reason().c_str());
    }
    std::printf("%llu took fewer\n", static_cast<unsigned long long>(done));
    manager.shutdown_workers(0);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    wq::Functions functions;
    functions.add("mean", mean);
    functions.add("collatz", collatz);
    if (argc > 1 && std::string(argv[1]) == "worker") return wq::worker_main(argc - 1, argv + 1, functions);
    try {
        return manage();
    } catch (const wq::SetupError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.exit_code();
    }
}
