// The launcher's epoll set. Its members are named by a source and a number.
#pragma once

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/descriptor.h"

namespace wq::node::process {

enum class PollSource : std::uint32_t {
    rank,
    zygote,
    children,
    starters,
    shell_reply,
    shell_script,
    shell_out,
    shell_err,
    lane_out,
    lane_err,
    disk_meter,
    interpreter,
    call_process
};

class Poller {
  public:
    Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

    bool valid() const { return epoll_.valid(); }  // else no descriptor was left for it

    void add(int fd, PollSource source, std::uint32_t events, std::size_t number = 0) {
        control(EPOLL_CTL_ADD, fd, source, events, number);
    }
    void change(int fd, PollSource source, std::uint32_t events, std::size_t number = 0) {
        control(EPOLL_CTL_MOD, fd, source, events, number);
    }
    void remove(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

    // Waits up to `milliseconds` (-1: forever). Meanwhile other threads may add, change and remove.
    void wait(int milliseconds) {
        const int count =
            epoll_wait(epoll_.get(), ready_.data(), static_cast<int>(ready_.size()), milliseconds);
        count_ = static_cast<std::size_t>(std::max(count, 0));
    }
    // Calls visit(source, events, number) for each member that was ready then.
    template <class Visit>
    void visit_ready(Visit&& visit) {
        for (std::size_t i = 0; i < count_; ++i) {
            const epoll_event& event = ready_[i];
            visit(static_cast<PollSource>(event.data.u64 >> 32), event.events,
                  static_cast<std::size_t>(event.data.u64 & 0xffffffffU));
        }
    }

  private:
    void control(int operation, int fd, PollSource source, std::uint32_t events, std::size_t number) {
        epoll_event event{};
        event.events = events;
        event.data.u64 = (static_cast<std::uint64_t>(source) << 32) | number;
        epoll_ctl(epoll_.get(), operation, fd, &event);
    }

    Descriptor epoll_;
    std::array<epoll_event, 64> ready_;
    std::size_t count_ = 0;
};

}  // namespace wq::node::process
