// Rates of a program's manager, with workers over TCP that this program starts, or with ranks:
//
//   bench_api calls|range|commands|latency WORKERS [plain|tls|flooded]     WORKERS over TCP on this machine
//   mpirun -n 2 bench_api calls|range|commands|latency ranks|others        ranks; others: all but this one
//
// flooded: beside a worker with the password that sends frames of 100,000 messages as fast as the manager
// reads.
//
// Prints one row of a markdown table.
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "net/frames/tcp_dialer.h"
#include "net/messages/messages.h"
#include "work_queue/call.h"
#include "work_queue/functions.h"
#include "work_queue/manager.h"
#include "work_queue/mpi.h"
#include "work_queue/worker.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
    return std::chrono::duration<double>(Clock::now() - began).count();
}

wq::Functions functions() {
    wq::Functions all;
    all.add("next", [](std::int64_t value) { return value + 1; });
    return all;
}

constexpr const char* password = "bench";

// TCP workers: this program again, one core each.
class Workers {
  public:
    Workers(int count, const std::string& contact) {
        for (int index = 0; index < count; ++index)
            start({"worker", "--contact", contact, "--cores", "1", "--parent-death"});
    }
    void add_flood(int port) { start({"flood", std::to_string(port)}); }
    bool all_there() const {
        return std::ranges::all_of(children_,
                                   [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == 0; });
    }
    ~Workers() {
        for (const pid_t child : children_) ::kill(child, SIGTERM);
        for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
    }

  private:
    void start(std::vector<std::string> words) {
        words.insert(words.begin(), "bench_api");
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        const pid_t child = ::fork();
        if (child == 0) {
            std::freopen("/dev/null", "w", stdout);
            ::execv("/proc/self/exe", arguments.data());
            ::_exit(127);
        }
        children_.push_back(child);
    }
    std::vector<pid_t> children_;
};

void wait_for(wq::net::frames::TcpDialer& link, Clock::duration longest) {
    pollfd entry{link.descriptors().front(), POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(longest).count()));
}

// Joins as a worker and says "I am there" without end, until the manager hangs up.
int flood(int port) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    wq::net::frames::TcpDialOptions options;
    options.managers = {{"127.0.0.1", static_cast<std::uint16_t>(port)}};
    options.key = password;
    const auto link = wq::net::frames::TcpDialer::open(std::move(options)).or_throw();
    wq::net::messages::Hello hello;
    hello.host = hello.identity = "flood";
    hello.offers = {0, 100, 100, 0};  // no task fits
    hello.clock = wq::wall_now();
    std::string frame;
    for (int index = 0; index < 100'000; ++index)
        frame += wq::net::messages::encode(wq::net::messages::Beat{});
    std::vector<wq::net::frames::Arrival> heard;
    for (bool joined = false;;) {
        heard.clear();
        link->poll(heard);
        for (const wq::net::frames::Arrival& arrival : heard) {
            if (std::holds_alternative<wq::net::frames::Left>(arrival)) return 1;
            if (!std::holds_alternative<wq::net::frames::Joined>(arrival)) continue;
            joined = true;
            link->send(wq::net::frames::TcpDialer::manager, wq::net::messages::encode(hello));
        }
        if (joined && link->idle())
            link->send(wq::net::frames::TcpDialer::manager, frame);
        else
            wait_for(*link, std::chrono::milliseconds(1));
    }
}

struct Setup {
    std::string what;
    std::string place;  // where the workers are, for the table
    int workers = 0;    // over TCP; otherwise ranks
    bool tls = false;
    bool flooded = false;
    bool others = false;  // only the other ranks work
};

Setup read_setup(int argc, char** argv) {
    const std::string who = argv[2];
    const std::string how = argc > 3 ? argv[3] : "plain";
    Setup setup{argv[1], "", std::atoi(argv[2]), how == "tls", how == "flooded", who == "others"};
    const std::string plural = setup.workers > 1 ? "s" : "";
    setup.place = setup.workers > 0 ? who + " TCP worker" + plural +
                                          (setup.tls       ? ", TLS"
                                           : setup.flooded ? " beside a flood"
                                                           : "")
                  : setup.others ? "another rank"
                                 : "its ranks";
    return setup;
}

// Waits until every worker has ended a first task: only the steady rate is measured.
void warm_up(wq::Manager& manager, int workers) {
    while (manager.stats().workers_connected < std::max(workers, 1)) {
        manager.submit(wq::Task("true"));
        manager.wait(1);
    }
    while (!manager.empty()) manager.wait(1);
}

// Keeps `window` tasks submitted.
double pipelined(wq::Manager& manager, int count, int window, const std::function<wq::Task(int)>& make) {
    int submitted = 0;
    int failed = 0;
    const auto began = Clock::now();
    for (int ended = 0; ended < count;) {
        while (submitted < count && submitted - ended < window) manager.submit(make(submitted++));
        if (auto task = manager.wait(5)) {
            ++ended;
            failed += !task->ok();
        }
    }
    const double took = seconds_since(began);
    if (failed > 0) std::fprintf(stderr, "%d tasks failed\n", failed);
    return count / took;
}

double calls(wq::Manager& manager) {
    constexpr int count = 500'000;
    return pipelined(manager, count, 20'000, [](int index) {
        return wq::Task::call("next", std::int64_t{index}).cores(1).call_mode(wq::CallMode::direct);
    });
}

double commands(wq::Manager& manager) {
    return pipelined(manager, 5000, 5000, [](int) { return wq::Task("true").cores(1).memory(1).disk(1); });
}

double range(wq::Manager& manager, const Setup& setup) {
    // TCP workers get each call by a lease; ranks claim them.
    const std::int64_t count = setup.workers > 0 ? 1'000'000 : 20'000'000;
    const auto began = Clock::now();
    manager.submit_range("next", 0, count, wq::CallMode::direct);
    std::uint64_t done = 0;
    while (!manager.empty())
        if (const auto task = manager.wait(5)) done += task->progress().done_now;
    if (done != static_cast<std::uint64_t>(count))
        std::fprintf(stderr, "only %llu were done\n", static_cast<unsigned long long>(done));
    return static_cast<double>(count) / seconds_since(began);
}

struct Latency {
    double middle, high, most;  // us: median, 99th percentile, longest
};

Latency latency_of(const std::function<void(std::int64_t)>& round_trip) {
    std::vector<double> took;
    for (std::int64_t index = 0; index < 5000; ++index) {
        const auto began = Clock::now();
        round_trip(index);
        took.push_back(seconds_since(began) * 1e6);
    }
    std::sort(took.begin(), took.end());
    return {took[took.size() / 2], took[took.size() * 99 / 100], took.back()};
}

// The time for two threads to wake each other: no call of another thread is faster.
Latency latency_of_threads() {
    const int there = ::eventfd(0, 0), back = ::eventfd(0, 0);
    std::uint64_t word = 1;
    const auto say = [](int to, std::uint64_t what) { return ::write(to, &what, sizeof what); };
    const auto hear = [](int from, std::uint64_t& what) { return ::read(from, &what, sizeof what); };
    constexpr std::uint64_t last = 2;
    std::thread other([&] {
        for (std::uint64_t heard = 0; hear(there, heard) > 0 && heard != last;) say(back, 1);
    });
    const Latency found = latency_of([&](std::int64_t) {
        say(there, 1);
        hear(back, word);
    });
    say(there, last);
    other.join();
    ::close(there);
    ::close(back);
    return found;
}

// From submit() to the return of wait(), one at a time.
Latency latency_of_calls(wq::Manager& manager) {
    return latency_of([&](std::int64_t index) {
        manager.submit(wq::Task::call("next", index).cores(1).call_mode(wq::CallMode::direct));
        while (!manager.wait(5)) continue;
    });
}

void measure(wq::Manager& manager, const Setup& setup) {
    if (setup.what == "latency") {
        const Latency calls = latency_of_calls(manager);
        const double threads = latency_of_threads().middle;
        std::printf(
            "| latency of one call, %s | %.0f us, 99 %% below %.0f us, at most %.0f us: %.1f times two "
            "threads (%.0f us) |\n",
            setup.place.c_str(), calls.middle, calls.high, calls.most, calls.middle / threads, threads);
        return;
    }
    const double rate = setup.what == "calls"   ? calls(manager)
                        : setup.what == "range" ? range(manager, setup)
                                                : commands(manager);
    std::printf("| %s, %s | %.0f /s |\n", setup.what.c_str(), setup.place.c_str(), rate);
}

int over_tcp(const Setup& setup) {
    const std::string contact =
        std::filesystem::temp_directory_path() / ("bench-contact-" + std::to_string(::getpid()));
    wq::ManagerOptions options;
    options.port = 0;
    options.contact_file = contact;
    options.password = setup.tls ? "" : password;  // a password without `ssl`: no TLS
    options.say = [](const std::string&) {};       // no messages about workers
    wq::Manager manager(options);
    Workers workers(setup.workers, contact);
    warm_up(manager, setup.workers);
    if (setup.flooded) {
        workers.add_flood(manager.port());
        while (workers.all_there() && manager.stats().workers_connected <= setup.workers) manager.wait(1);
    }
    measure(manager, setup);
    if (workers.all_there()) return 0;
    std::fprintf(stderr, "not all workers were there to the end\n");
    return 1;
}

int over_ranks(Setup setup) {
    wq::MpiOptions options;
    options.manager_only = setup.others;
    wq::MpiSession session(functions(), options);
    if (session.rank() > 0) return session.serve();
    wq::ManagerOptions manager_options;
    manager_options.listen = false;
    manager_options.mpi = &session;
    wq::Manager manager(manager_options);
    if (!setup.others)
        setup.place = session.size() == 1 ? "its own process" : std::to_string(session.size()) + " ranks";
    warm_up(manager, session.size() - (setup.others ? 1 : 0));
    measure(manager, setup);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "worker") return wq::worker_main(argc - 1, argv + 1, functions());
    if (argc < 3) return 64;
    if (std::string(argv[1]) == "flood") return flood(std::atoi(argv[2]));
    const Setup setup = read_setup(argc, argv);
    return setup.workers > 0 ? over_tcp(setup) : over_ranks(setup);
}
