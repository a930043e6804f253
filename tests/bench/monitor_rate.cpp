// The cost of watching tasks: the share of a core that the launcher takes, and the process that measures disk
// usage, while 100 idle tasks run, each a shell with a child.
//
//   bench_monitor [TASKS [SECONDS]]
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "node/launcher/launcher.h"
#include "node/machine/cpu_mask.h"
#include "node/process/process_tree.h"

namespace {

using namespace wq;

std::string first_line(pid_t pid, const char* what) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/" + what);
    std::string line;
    std::getline(file, line);
    return line;
}

// CPU time of our processes with that name, in seconds; /proc/PID/stat has only hundredths.
double cpu_seconds(const std::string& name) {
    double sum = 0;
    for (const pid_t pid : node::process::descendants_of(getpid()))
        if (first_line(pid, "comm") == name) sum += std::atof(first_line(pid, "schedstat").c_str()) / 1e9;
    return sum;
}

void wait_for(node::launcher::Launcher& launcher, int started) {
    for (int seen = 0; seen < started;) {
        pollfd ready{launcher.descriptor(), POLLIN, 0};
        poll(&ready, 1, -1);
        for (const node::launcher::Report& report : launcher.next())
            if (std::holds_alternative<node::launcher::TaskStarted>(report)) ++seen;
    }
}

void measure(const char* name, const engine::model::Watch& watch, int tasks, int seconds) {
    auto launcher = node::launcher::Launcher::start().or_throw();
    node::launcher::LauncherOptions options;
    const auto units = node::machine::CpuMask::of_process(0).indexes();
    for (int i = 0; i < tasks; ++i)
        options.slice.cores.push_back({units[static_cast<std::size_t>(i) % units.size()]});
    options.slice.bind = node::machine::Binding::none;
    options.shell = "/bin/sh";
    options.scratch = "/tmp/wq-bench-monitor";
    std::move(launcher->open(options)).or_throw();
    for (int i = 0; i < tasks; ++i) {
        node::process::Order order;
        order.task = TaskId(static_cast<std::uint64_t>(i));
        order.give.cores = 1;
        order.text = "sleep 100000; true";
        order.watch = watch;
        launcher->run(std::move(order));
    }
    wait_for(*launcher, tasks);
    poll(nullptr, 0, 2000);  // the first samples cost more than later ones
    const double before = cpu_seconds("wq_launcher");
    const double disk_before = cpu_seconds("wq_disk");
    const Instant begin = instant_now();
    poll(nullptr, 0, seconds * 1000);
    const double took = std::chrono::duration<double>(instant_now() - begin).count();
    std::printf("%-34s launcher %6.3f %% of a core, disks %6.3f %%\n", name,
                100 * (cpu_seconds("wq_launcher") - before) / took,
                100 * (cpu_seconds("wq_disk") - disk_before) / took);
    launcher->close(std::chrono::seconds(5));
    rmdir(options.scratch.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as soon as it is measured
    const int tasks = argc > 1 ? std::atoi(argv[1]) : 100;
    const int seconds = argc > 2 ? std::atoi(argv[2]) : 10;
    try {
        std::printf("%d running tasks, over %d s\n", tasks, seconds);
        measure("not watched", {}, tasks, seconds);
        measure("measured", {true, {}}, tasks, seconds);
        measure("measured, and held to limits", {true, {1000, 1000, 1000, engine::model::unsaid}}, tasks,
                seconds);
    } catch (const Failure& failure) {
        std::fprintf(stderr, "bench_monitor: %s\n", failure.error.message.c_str());
        return to_int(failure.error.code);
    }
    return 0;
}
