// Tasks per second through the launcher, compared with bare loops of the same command: posix_spawn and wait
// in one process per core (the floor), in one process for all with the output discarded, and with pipes,
// wait4 and its figures.
//
//   bench_launcher [TASKS [ROUNDS]]
//
// They take turns and the best round of each counts, since other load only slows a round down.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "node/launcher/launcher.h"
#include "node/machine/cpu_mask.h"

namespace {

using wq::node::launcher::Launcher;
using Words = std::vector<std::string>;

constexpr int in_flight = 2;

double seconds_since(wq::Instant begin) {
    return std::chrono::duration<double>(wq::instant_now() - begin).count();
}

// CPU time of this process and all its ended children, in seconds: the cost of a task even if other programs
// share the cores.
double cpu_seconds() {
    double sum = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage{};
        getrusage(who, &usage);
        for (const timeval& time : {usage.ru_utime, usage.ru_stime})
            sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    }
    return sum;
}

struct Best {
    double rate = 0;       // tasks/s, the highest
    double cpu_us = 1e12;  // per task, the lowest
    std::uint64_t failed = 0;

    template <class Run>
    void take(int tasks, Run&& run) {
        const double cpu = cpu_seconds();
        rate = std::max(rate, run());
        cpu_us = std::min(cpu_us, (cpu_seconds() - cpu) / tasks * 1e6);
    }
};

struct Pointers {
    explicit Pointers(const Words& words) {
        for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
    }
    std::vector<char*> argv;
};

double loop_rate(const Words& command, int tasks, int at_once) {
    const Pointers words(command);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const wq::Instant begin = wq::instant_now();
    int started = 0;
    for (int ended = 0; ended < tasks;) {
        for (; started < tasks && started - ended < at_once; ++started) {
            pid_t pid = 0;
            posix_spawn(&pid, words.argv[0], &actions, nullptr, words.argv.data(), environ);
        }
        int status = 0;
        if (wait(&status) > 0) ++ended;
    }
    const double took = seconds_since(begin);
    posix_spawn_file_actions_destroy(&actions);
    return tasks / took;
}

double floor_rate(const Words& command, int tasks) {
    const wq::Instant begin = wq::instant_now();
    for (int core = 0; core < in_flight; ++core) {
        if (fork() != 0) continue;
        loop_rate(command, tasks / in_flight, 1);
        _exit(0);
    }
    while (wait(nullptr) > 0) {
    }
    return tasks / seconds_since(begin);
}

struct Piped {
    pid_t pid = 0;
    int out = -1;
    int err = -1;
};

Piped start_piped(const Pointers& words) {
    int out[2];
    int err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    Piped child{0, out[0], err[0]};
    posix_spawn(&child.pid, words.argv[0], &actions, nullptr, words.argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    return child;
}

std::size_t read_all(int fd) {
    std::array<char, 4096> buffer;
    std::size_t total = 0;
    for (ssize_t got = 0; (got = read(fd, buffer.data(), buffer.size())) > 0;)
        total += static_cast<std::size_t>(got);
    close(fd);
    return total;
}

double piped_floor_rate(const Words& command, int tasks) {
    const Pointers words(command);
    std::vector<Piped> running;
    const wq::Instant begin = wq::instant_now();
    int started = 0;
    for (int ended = 0; ended < tasks;) {
        for (; started < tasks && started - ended < in_flight; ++started)
            running.push_back(start_piped(words));
        int status = 0;
        rusage usage{};
        const pid_t pid = wait4(-1, &status, 0, &usage);
        const auto child =
            std::find_if(running.begin(), running.end(), [&](const Piped& p) { return p.pid == pid; });
        if (child == running.end()) continue;
        read_all(child->out);
        read_all(child->err);
        running.erase(child);
        ++ended;
    }
    return tasks / seconds_since(begin);
}

double launcher_rate(const Words& command, const std::string& line, int tasks, bool direct,
                     std::uint64_t& failed) {
    auto launcher = Launcher::start().or_throw();
    wq::node::launcher::LauncherOptions options;
    for (const int pu : wq::node::machine::CpuMask::of_process(0).indexes())
        options.slice.cores.push_back({pu});
    options.slice.cores.resize(std::min<std::size_t>(options.slice.cores.size(), in_flight));
    options.slice.memory_mb = 1024;
    options.shell = "/bin/sh";
    options.scratch = "/tmp/wq-bench-launcher";
    std::move(launcher->open(options)).or_throw();

    constexpr int ahead = 400;  // what a rank keeps queued: two batches of reports
    const wq::Instant begin = wq::instant_now();
    int given = 0;
    for (int ended = 0; ended < tasks;) {
        for (; given < tasks && given - ended < ahead; ++given) {
            wq::node::process::Order order;
            order.task = wq::TaskId(static_cast<std::uint64_t>(given));
            order.give.cores = 1;
            if (direct)
                order.argv = command;
            else
                order.text = line;
            launcher->run(std::move(order));
        }
        pollfd ready{launcher->descriptor(), POLLIN, 0};
        poll(&ready, 1, -1);
        for (const wq::node::launcher::Report& report : launcher->next()) {
            const auto* end = std::get_if<wq::node::launcher::TaskEnded>(&report);
            if (end == nullptr) continue;
            ++ended;
            if (!end->outcome.succeeded()) ++failed;
        }
    }
    const double rate = tasks / seconds_since(begin);
    launcher->close(std::chrono::seconds(5));
    rmdir(options.scratch.c_str());
    return rate;
}

void compare(const char* name, const Words& command, const std::string& line, bool direct, int tasks,
             int rounds) {
    Best bare;
    Best loop;
    Best piped;
    Best ours;
    for (int round = 0; round < rounds; ++round) {
        bare.take(tasks, [&] { return floor_rate(command, tasks); });
        loop.take(tasks, [&] { return loop_rate(command, tasks, in_flight); });
        piped.take(tasks, [&] { return piped_floor_rate(command, tasks); });
        ours.take(tasks, [&] { return launcher_rate(command, line, tasks, direct, ours.failed); });
    }
    std::printf("%s\n", name);
    const auto print = [&](const char* what, const Best& best) {
        std::printf("  %-28s %7.0f tasks/s  %.2f of the floor   %6.0f us CPU a task  %.2f of the floor\n",
                    what, best.rate, best.rate / bare.rate, best.cpu_us, best.cpu_us / bare.cpu_us);
    };
    print("floor: one process a core", bare);
    print("one process for all", loop);
    print("the same, pipes and wait4", piped);
    print("launcher", ours);
    if (ours.failed > 0) std::printf("  %llu tasks failed\n", static_cast<unsigned long long>(ours.failed));
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as soon as it is measured
    const int tasks = argc > 1 ? std::atoi(argv[1]) : 4000;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
    try {
        compare("/bin/true, directly", {"/bin/true"}, "", true, tasks, rounds);
        compare("sh -c 'echo hi'", {"/bin/sh", "-c", "echo hi"}, "echo hi", false, tasks, rounds);
        compare("/bin/echo hi, directly", {"/bin/echo", "hi"}, "", true, tasks, rounds);
    } catch (const wq::Failure& failure) {
        std::fprintf(stderr, "bench_launcher: %s\n", failure.error.message.c_str());
        return wq::to_int(failure.error.code);
    }
    return 0;
}
