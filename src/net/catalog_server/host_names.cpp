#include "net/catalog_server/host_names.h"

#include <netdb.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/signals.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::catalog_server {

namespace {

constexpr std::size_t most_known = 10'000;
constexpr std::size_t most_waiting = 1'000;
constexpr Duration holds = std::chrono::minutes(30);

std::string ask_resolver(const std::string& address) {
    const auto numeric = frames::resolve({address, 0});
    if (!numeric || numeric->empty()) return {};
    std::array<char, NI_MAXHOST> name{};
    const frames::SocketAddress& socket = numeric->front();
    const int code =
        ::getnameinfo(socket.get(), socket.bytes, name.data(), name.size(), nullptr, 0, NI_NAMEREQD);
    return code == 0 ? name.data() : "";
}

}  // namespace

struct HostNames::Shared {
    struct Answer {
        std::string name;
        Instant asked{};
    };
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::string> waiting;
    std::unordered_map<std::string, Answer> known;
    Found found;
    bool over = false;

    void run() {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [&] { return over || !waiting.empty(); });
            if (over) return;
            const std::string address = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            const std::string name = ask_resolver(address);
            lock.lock();
            if (over) return;
            if (name.empty()) continue;
            if (const auto one = known.find(address); one != known.end()) one->second.name = name;
            found(address, name);
        }
    }
};

HostNames::HostNames(Found found) : shared_(std::make_shared<Shared>()) {
    shared_->found = std::move(found);
    quiet_thread([shared = shared_] { shared->run(); }).detach();
}

HostNames::~HostNames() {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
    shared_->changed.notify_all();
}

std::string HostNames::name_of(const std::string& address, Instant now) {
    const std::lock_guard lock(shared_->mutex);
    auto& known = shared_->known;
    const auto one = known.find(address);
    if (one != known.end() && now < one->second.asked + holds) return one->second.name;
    if (shared_->waiting.size() >= most_waiting) return one == known.end() ? "" : one->second.name;
    if (one == known.end() && known.size() >= most_known) known.erase(known.begin());
    Shared::Answer& answer = known[address];
    answer.asked = now;
    shared_->waiting.push_back(address);
    shared_->changed.notify_all();
    return answer.name;
}

}  // namespace wq::net::catalog_server
