// How long files take to reach TCP workers on this machine:
//
//   bench_files TASKS FILE once|cached|delay      TASKS tasks that each have FILE (or a folder) as input
//
// Prints the seconds from the first submit() to the last end; delay: the longest round trip, in milliseconds,
// of a small task on a second worker while the file travels to the first.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "work_queue/functions.h"
#include "work_queue/manager.h"
#include "work_queue/worker.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
    return std::chrono::duration<double>(Clock::now() - began).count();
}

// This program again, one core each.
class Workers {
  public:
    Workers(int count, const std::string& folder) {
        for (int index = 0; index < count; ++index) {
            const pid_t child = ::fork();
            if (child == 0) {
                std::freopen("/dev/null", "w", stdout);
                const std::string feature = "worker" + std::to_string(index);
                ::execl("/proc/self/exe", "bench_files", "worker", "--contact", (folder + "/contact").c_str(),
                        "--cores", "1", "--feature", feature.c_str(), "-s", folder.c_str(), "--parent-death",
                        nullptr);
                ::_exit(127);
            }
            children_.push_back(child);
        }
    }
    ~Workers() {
        for (const pid_t child : children_) ::kill(child, SIGTERM);
        for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
    }

  private:
    std::vector<pid_t> children_;
};

wq::Task small() {
    return wq::Task("true").cores(1).memory(1).disk(1);
}

bool wait_for_all(wq::Manager& manager) {
    bool good = true;
    while (!manager.empty())
        if (const auto task = manager.wait(5)) good = good && task->ok();
    return good;
}

bool measure(wq::Manager& manager, int tasks, const std::string& path, bool cached) {
    const auto began = Clock::now();
    for (int index = 0; index < tasks; ++index)
        manager.submit(small().input_file(path, "in", {.cache = cached}));
    const bool good = wait_for_all(manager);
    std::printf("%.3f\n", seconds_since(began));
    return good;
}

bool measure_delay(wq::Manager& manager, const std::string& path) {
    manager.submit(small().feature("worker0").tag("large").input_file(path, "in"));
    double longest = 0;
    int round_trips = 0;
    for (bool travels = true; travels; ++round_trips) {
        const auto began = Clock::now();
        manager.submit(small().feature("worker1").input_buffer("x", "x"));
        for (bool back = false; !back;)
            if (const auto task = manager.wait(5)) {
                back = task->tag().empty();
                travels = travels && back;
            }
        longest = std::max(longest, seconds_since(began));
    }
    std::printf("%.1f (longest of %d)\n", longest * 1000, round_trips);
    return wait_for_all(manager);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "worker") return wq::worker_main(argc - 1, argv + 1, {});
    if (argc != 4) return 64;
    const std::string how = argv[3];
    std::string folder = std::filesystem::temp_directory_path() / "wq-bench-files-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return 1;
    bool good = false;
    {
        wq::ManagerOptions options;
        options.port = 0;
        options.password = "bench";  // without `ssl`: no TLS, like the peers
        options.contact_file = folder + "/contact";
        options.say = [](const std::string&) {};
        wq::Manager manager(options);
        const int count = how == "delay" ? 2 : 1;
        const Workers workers(count, folder);
        while (manager.stats().workers_connected < count) manager.wait(1);
        good = how == "delay" ? measure_delay(manager, argv[2])
                              : measure(manager, std::atoi(argv[1]), argv[2], how == "cached");
    }
    std::filesystem::remove_all(folder);
    return good ? 0 : 1;
}
