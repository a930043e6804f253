// The CPU share of a program's manager while its 1,000 workers idle. The workers are another process:
// connections that say hello and then only send keep-alives. One line: "NAME VALUE UNIT".
//
//   bench_idle [SECONDS]
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/frames/tcp_dialer.h"
#include "net/messages/messages.h"
#include "work_queue/manager.h"

namespace {

using namespace wq;

constexpr std::int64_t workers = 1000;
constexpr int idle_seconds = 65;  // at least two keep-alives each way

void raise_descriptor_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

net::messages::Hello hello(std::int64_t number) {
    net::messages::Hello hello;
    hello.host = "idle" + std::to_string(number);
    hello.identity = hello.host;
    hello.offers = {4, 8000, 8000, 0};
    hello.clock = wall_now();
    return hello;
}

void wait_for_joined(net::frames::TcpDialer& link) {
    std::vector<net::frames::Arrival> inbox;
    while (!link.poll(inbox)) {
        pollfd entry{link.descriptors().front(), POLLIN, 0};
        poll(&entry, 1, -1);
    }
    if (inbox.empty() || !std::holds_alternative<net::frames::Joined>(inbox.front())) _exit(1);
}

// Until `end` is closed.
[[noreturn]] void be_workers(int port, int end) {
    raise_descriptor_limit();
    std::vector<std::unique_ptr<net::frames::TcpDialer>> links;
    for (std::int64_t number = 0; number < workers; ++number) {
        net::frames::TcpDialOptions dial;
        dial.managers = {{"127.0.0.1", static_cast<std::uint16_t>(port)}};
        links.push_back(net::frames::TcpDialer::open(std::move(dial)).or_throw());
        wait_for_joined(*links.back());
        links.back()->send(net::frames::TcpDialer::manager, net::messages::encode(hello(number)));
        // As a worker does after its Welcome.
        links.back()->send(net::frames::TcpDialer::manager, net::messages::encode(net::messages::Beat{}));
    }
    char byte = 0;
    while (read(end, &byte, 1) > 0) {
    }
    _exit(0);
}

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
    int to_child[2];
    if (pipe(to_child) != 0) return 1;
    const pid_t child = fork();  // before there are threads
    if (child == 0) {
        close(to_child[1]);
        int port = 0;
        if (read(to_child[0], &port, sizeof port) != sizeof port) _exit(1);
        be_workers(port, to_child[0]);
    }
    close(to_child[0]);
    {
        ManagerOptions options;
        options.say = [](const std::string&) {};
        Manager manager(options);
        const int port = manager.port();
        if (write(to_child[1], &port, sizeof port) != sizeof port) return 1;
        while (manager.stats().workers_connected < workers) poll(nullptr, 0, 10);
        const double before = cpu_seconds();
        const Instant began = instant_now();
        poll(nullptr, 0, 1000 * (argc > 1 ? std::atoi(argv[1]) : idle_seconds));
        const double passed = std::chrono::duration<double>(instant_now() - began).count();
        std::printf("%-28s %12.2f %% CPU\n", "idle_manager_1000_workers",
                    100 * (cpu_seconds() - before) / passed);
    }
    close(to_child[1]);
    waitpid(child, nullptr, 0);
    return 0;
}
