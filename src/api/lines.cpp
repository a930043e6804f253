#include "api/lines.h"

#include <cstdio>
#include <utility>

#include "base/signals.h"

namespace wq::api {

namespace {
constexpr std::size_t most_waiting_lines = 10'000;
}

void print_line(const std::string& line) {
    std::fprintf(stderr, "work_queue: %s\n", line.c_str());
}

Lines::Lines(Say say) : say_(std::move(say)), thread_(quiet_thread([this] { run(); })) {}

void Lines::add_line(std::string line) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting_lines) {
        ++dropped_;
        return;
    }
    waiting_.push_back(std::move(line));
    something_.notify_one();
}

void Lines::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        something_.wait(lock, [&] { return over_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        const std::string line = std::move(waiting_.front());
        waiting_.pop_front();
        if (waiting_.empty() && dropped_ > 0)
            waiting_.push_back(std::to_string(std::exchange(dropped_, 0)) +
                               " lines were dropped: the program took them too slowly");
        lock.unlock();
        say_(line);
        lock.lock();
    }
}

void Lines::close() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
        something_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
}

}  // namespace wq::api
