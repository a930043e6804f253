#include "ranks/mpi/process_watch.h"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/child.h"

namespace wq::ranks::mpi {

ProcessAddress own_process_address() {
    struct stat info {};
    const bool known = ::stat("/proc/self/ns/pid", &info) == 0;
    return {::getpid(), known ? static_cast<std::uint64_t>(info.st_ino) : 0};
}

ProcessWatch::ProcessWatch() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), self_(own_process_address()) {}

ProcessWatch::~ProcessWatch() {
    if (epoll_ >= 0) ::close(epoll_);
}

bool ProcessWatch::add(std::uint32_t key, const ProcessAddress& process) {
    if (epoll_ < 0 || self_.pid_namespace == 0 || process.pid_namespace != self_.pid_namespace) return false;
    Descriptor pidfd = end_descriptor_of(process.pid);
    if (!pidfd.valid() && errno == ESRCH) {
        already_gone_.push_back(key);
        return true;
    }
    if (!pidfd.valid()) return false;
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.u32 = key;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, pidfd.get(), &wanted) != 0) return false;
    pidfds_[key] = std::move(pidfd);
    return true;
}

void ProcessWatch::remove(std::uint32_t key) {
    std::erase(already_gone_, key);
    pidfds_.erase(key);
}

std::vector<std::uint32_t> ProcessWatch::ended() {
    std::vector<std::uint32_t> keys;
    keys.swap(already_gone_);
    if (pidfds_.empty()) return keys;
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
        const std::uint32_t key = events[static_cast<std::size_t>(i)].data.u32;
        keys.push_back(key);
        remove(key);
    }
    return keys;
}

}  // namespace wq::ranks::mpi
