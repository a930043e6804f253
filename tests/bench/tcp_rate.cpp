// Rates of frames over TCP on this machine. One line per figure: "NAME VALUE UNIT".
//
// Both ends are in this process, each with its socket thread and its caller, as two processes would have.
//
//   bench_tcp [SECONDS]     of idling
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "net/frames/tcp_dialer.h"
#include "net/frames/tcp_listener.h"
#include "net/frames/tls_identity.h"

namespace {

using namespace wq;
using namespace wq::net::frames;

constexpr std::size_t message_bytes = 100;
constexpr std::size_t messages_per_frame = 64;
constexpr std::size_t most_ahead = 1000;  // frames in flight: a typical window
constexpr Duration flood_time = std::chrono::seconds(2);
constexpr int round_trips = 20'000;
constexpr std::size_t idle_workers = 1000;
constexpr int idle_seconds = 31;  // at least one keep-alive each way

double seconds(Duration time) {
    return std::chrono::duration<double>(time).count();
}

void tell(const std::string& name, double value, const char* unit) {
    std::printf("%-28s %12.1f %s\n", name.c_str(), value, unit);
    std::fflush(stdout);
}

void wait(Transport& end, int milliseconds = 1000) {
    pollfd entry{end.descriptors().front(), POLLIN, 0};
    ::poll(&entry, 1, milliseconds);
}

// Waits for arrivals and takes them; exits if a peer is lost.
void take(Transport& end, std::vector<Arrival>& inbox) {
    inbox.clear();
    while (!end.poll(inbox)) wait(end);
    for (const Arrival& arrival : inbox) {
        if (const auto* left = std::get_if<Left>(&arrival)) {
            std::fprintf(stderr, "tcp_rate: lost a peer: %s\n", left->why.c_str());
            std::exit(1);
        }
    }
}

struct Pair {
    explicit Pair(bool tls) {
        TcpListenOptions listening;
        listening.bind = {"127.0.0.1"};
        listening.key = "key";
        if (tls) listening.tls = make_identity().or_throw();
        manager = TcpListener::open(std::move(listening)).or_throw();
        TcpDialOptions dialing;
        dialing.managers = {{"127.0.0.1", manager->port()}};
        dialing.key = "key";
        if (tls) dialing.tls = TlsTrust{TlsTrust::By::digest, manager->certificate_digest()};
        worker = TcpDialer::open(std::move(dialing)).or_throw();
        std::vector<Arrival> inbox;
        take(*manager, inbox);
        peer = std::get<Joined>(inbox.front()).peer;
        take(*worker, inbox);
    }
    std::unique_ptr<TcpListener> manager;
    std::unique_ptr<TcpDialer> worker;
    PeerId peer;
};

// One way, as fast as the other end receives.
void flood(const std::string& name, bool tls) {
    Pair pair(tls);
    std::atomic<std::size_t> received{0};
    std::atomic<bool> over{false};
    std::thread receiver([&] {
        std::vector<Arrival> inbox;
        while (!over) {
            inbox.clear();
            if (!pair.worker->poll(inbox)) wait(*pair.worker, 10);
            received += inbox.size();
        }
    });
    const std::string frame(message_bytes * messages_per_frame, 'm');
    const Instant began = instant_now();
    std::size_t sent = 0;
    while (instant_now() - began < flood_time) {
        if (sent - received > most_ahead) {
            std::this_thread::yield();
            continue;
        }
        for (int i = 0; i < 16; ++i, ++sent) pair.manager->send(pair.peer, frame);
    }
    const double rate = static_cast<double>(received) / seconds(instant_now() - began);
    over = true;
    receiver.join();
    tell(name + "_frames", rate, "frames/s");
    tell(name + "_messages", rate * messages_per_frame, "messages/s");
}

void latency(const std::string& name, bool tls) {
    Pair pair(tls);
    std::thread echo([&] {
        std::vector<Arrival> inbox;
        for (int i = 0; i < round_trips;) {
            take(*pair.worker, inbox);
            for (Arrival& arrival : inbox)
                if (auto* frame = std::get_if<Frame>(&arrival)) {
                    pair.worker->send(TcpDialer::manager, std::move(frame->bytes));
                    ++i;
                }
        }
    });
    std::vector<double> micros;
    std::vector<Arrival> inbox;
    for (int i = 0; i < round_trips; ++i) {
        const Instant began = instant_now();
        pair.manager->send(pair.peer, std::string(message_bytes, 'm'));
        take(*pair.manager, inbox);
        micros.push_back(seconds(instant_now() - began) * 1e6);
    }
    echo.join();
    std::sort(micros.begin(), micros.end());
    tell(name + "_round_trip_p50", micros[micros.size() / 2], "us");
    tell(name + "_round_trip_p99", micros[micros.size() * 99 / 100], "us");
}

double cpu_used() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto of = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return of(used.ru_utime) + of(used.ru_stime);
}

// Both ends of a thousand connections: the workers, with a thread each, cost by far the most.
void idle(Duration idle_time) {
    TcpListenOptions listening;
    listening.bind = {"127.0.0.1"};
    auto manager = TcpListener::open(std::move(listening)).or_throw();
    std::vector<std::unique_ptr<TcpDialer>> workers;
    std::vector<Arrival> inbox;
    for (std::size_t i = 0; i < idle_workers; ++i) {
        TcpDialOptions dialing;
        dialing.managers = {{"127.0.0.1", manager->port()}};
        workers.push_back(TcpDialer::open(std::move(dialing)).or_throw());
        take(*manager, inbox);
    }
    const double before = cpu_used();
    const Instant until = instant_now() + idle_time;
    while (instant_now() < until) wait(*manager, static_cast<int>(seconds(until - instant_now()) * 1000) + 1);
    tell("idle_1000_both_ends", 100 * (cpu_used() - before) / seconds(idle_time), "% CPU");
}

}  // namespace

int main(int argc, char** argv) {
    flood("plain", false);
    flood("tls", true);
    latency("plain", false);
    latency("tls", true);
    idle(std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : idle_seconds));
    return 0;
}
