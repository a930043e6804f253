// Loads a catalog server on this machine, ours or CCTools', as its clients do. Prints one line: figures with
// names.
//
//   bench_catalog PORT tcp COUNT BYTES [FIRST]   records by TCP, COUNT different ones: "seconds S"
//   bench_catalog PORT udp COUNT BYTES     the same by UDP, as fast as the server takes them
//   bench_catalog PORT flood RATE SECONDS     datagrams of forged senders' names at RATE/s, taken or not
//   bench_catalog PORT query PATH TIMES [AT_ONCE]   milliseconds of each: "median M longest L bytes B"
//   bench_catalog PORT floor    is a server that reads updates by TCP and does nothing with them: the least
//                               that any server takes
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void pause() {
    ::poll(nullptr, 0, 1);
}

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "bench_catalog: %s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
}

sockaddr_in local(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int connected(int port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = local(port);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
    return socket;
}

// As a manager announces: some numbers, and others that are text.
std::string record_of(int number, std::size_t bytes) {
    std::string text =
        R"({"type":"wq_master","project":"project)" + std::to_string(number) + R"(","name":"node)" +
        std::to_string(number) + R"(","port":)" + std::to_string(1 + number) +
        R"(,"owner":"somebody","version":"8.0.0",)" +
        R"("manager_preferred_connection":"by_ip","network_interfaces":[{"interface":"eth0",)" +
        R"("address":"192.0.2.2","host":"192.0.2.2","family":"AF_INET"}])";
    for (const char* const key :
         {"tasks_waiting", "tasks_running", "tasks_complete", "workers", "capacity_tasks"})
        text += std::string(",\"") + key + "\":" + std::to_string(number % 1000);
    for (int more = 0; text.size() + 40 < bytes; ++more)
        text += ",\"time_in_state_" + std::to_string(more) + "\":" + std::to_string(1'795'801'493'000 + more);
    return text + "}";
}

// Several at once, as one machine's many managers; each is over once the server has closed it.
void by_tcp(int port, int count, std::size_t bytes, int first) {
    constexpr std::size_t at_once = 4;  // CCTools' server lets 5 wait
    const Clock::time_point begin = Clock::now();
    std::vector<pollfd> open;
    for (int sent = 0; sent < count || !open.empty();) {
        while (sent < count && open.size() < at_once) {
            const std::string text = record_of(first + sent++, bytes);
            const int socket = connected(port + 1);
            if (::send(socket, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
                fail("send");
            ::shutdown(socket, SHUT_WR);
            open.push_back({socket, POLLIN, 0});
        }
        if (::poll(open.data(), open.size(), 60'000) <= 0) fail("poll");
        std::erase_if(open, [](const pollfd& one) {
            if (one.revents == 0) return false;
            ::close(one.fd);
            return true;
        });
    }
    std::printf("seconds %.6f\n", seconds_since(begin));
}

// Bytes that wait in the server's socket.
unsigned long waiting_at(int port) {
    std::ifstream table("/proc/net/udp");
    std::string line;
    std::array<char, 8> wanted{};
    std::snprintf(wanted.data(), wanted.size(), ":%04X", static_cast<unsigned>(port));
    while (std::getline(table, line)) {
        unsigned long sends = 0, receives = 0;
        std::array<char, 64> own{};
        if (std::sscanf(line.c_str(), " %*d: %63s %*s %*x %lx:%lx", own.data(), &sends, &receives) == 3 &&
            std::strstr(own.data(), wanted.data()) != nullptr)
            return receives;
    }
    return 0;
}

void by_udp(int port, int count, std::size_t bytes) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = local(port);
    const Clock::time_point begin = Clock::now();
    for (int sent = 0; sent < count; ++sent) {
        while (sent % 16 == 0 && waiting_at(port) > 64'000) pause();
        const std::string text = record_of(sent, bytes);
        ::sendto(socket, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&address),
                 sizeof address);
    }
    while (waiting_at(port) > 0) pause();
    std::printf("seconds %.6f\n", seconds_since(begin));
}

void flood(int port, double rate, double duration) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = local(port);
    const Clock::time_point begin = Clock::now();
    long sent = 0;
    const std::string rest = record_of(0, 500).substr(1);
    while (seconds_since(begin) < duration) {
        if (static_cast<double>(sent) > rate * seconds_since(begin)) {
            pause();
            continue;
        }
        for (int part = 0; part < 32; ++part, ++sent) {
            const std::string text = "{\"uuid\":\"" + std::to_string(sent) + "\"," + rest;
            ::sendto(socket, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&address),
                     sizeof address);
        }
    }
    std::printf("sent %ld seconds %.6f\n", sent, seconds_since(begin));
}

void query(int port, const std::string& path, int times, std::size_t at_once) {
    struct Asked {
        Clock::time_point begin;
        std::size_t bytes = 0;
    };
    std::vector<pollfd> open;
    std::vector<Asked> asked;
    std::vector<double> took;
    std::size_t bytes = 0;
    std::vector<char> part(1 << 18);
    const std::string words = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for (int begun = 0; begun < times || !open.empty();) {
        while (begun < times && open.size() < at_once) {
            ++begun;
            asked.push_back({Clock::now()});
            open.push_back({connected(port), POLLIN, 0});
            if (::send(open.back().fd, words.data(), words.size(), MSG_NOSIGNAL) < 0) fail("send");
        }
        if (::poll(open.data(), open.size(), 60'000) <= 0) fail("poll");
        for (std::size_t at = open.size(); at-- > 0;) {
            if (open[at].revents == 0) continue;
            const ssize_t size = ::recv(open[at].fd, part.data(), part.size(), 0);
            if (size < 0) fail("recv");
            asked[at].bytes += static_cast<std::size_t>(size);
            if (size > 0) continue;
            took.push_back(1000 * seconds_since(asked[at].begin));
            bytes = asked[at].bytes;
            ::close(open[at].fd);
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
            asked.erase(asked.begin() + static_cast<std::ptrdiff_t>(at));
        }
    }
    std::ranges::sort(took);
    std::printf("median %.3f longest %.3f bytes %zu\n", took[took.size() / 2], took.back(), bytes);
}

int listening(int port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const sockaddr_in address = local(port);
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket, SOMAXCONN) != 0)
        fail("listen");
    return socket;
}

[[noreturn]] void be_floor(int port) {
    std::array<pollfd, 2> open{{{listening(port), POLLIN, 0}, {listening(port + 1), POLLIN, 0}}};
    std::vector<char> part(1 << 16);
    for (;;) {
        if (::poll(open.data(), open.size(), -1) < 0) fail("poll");
        for (const pollfd& one : open) {
            const int socket = one.revents == 0 ? -1 : ::accept4(one.fd, nullptr, nullptr, SOCK_CLOEXEC);
            if (socket < 0) continue;
            while (::recv(socket, part.data(), part.size(), 0) > 0) {
            }
            ::close(socket);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string kind = argc > 2 ? argv[2] : "";
    if (argc < 5 && kind != "floor") return 64;
    const int port = std::atoi(argv[1]);
    if (kind == "floor") be_floor(port);
    const auto bytes = static_cast<std::size_t>(std::atoi(argv[4]));
    if (kind == "tcp") by_tcp(port, std::atoi(argv[3]), bytes, argc > 5 ? std::atoi(argv[5]) : 0);
    if (kind == "udp") by_udp(port, std::atoi(argv[3]), bytes);
    if (kind == "flood") flood(port, std::atof(argv[3]), std::atof(argv[4]));
    if (kind == "query")
        query(port, argv[3], std::atoi(argv[4]), argc > 5 ? static_cast<std::size_t>(std::atoi(argv[5])) : 1);
}
