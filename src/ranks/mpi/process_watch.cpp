#include "ranks/mpi/process_watch.h"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace wq::ranks::mpi {

ProcessAddress own_process_address() {
    struct stat info {};
    const bool known = ::stat("/proc/self/ns/pid", &info) == 0;
    return {::getpid(), known ? static_cast<std::uint64_t>(info.st_ino) : 0};
}

ProcessWatch::ProcessWatch() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), self_(own_process_address()) {}

ProcessWatch::~ProcessWatch() {
    for (const auto& [key, pidfd] : pidfds_) ::close(pidfd);
    if (epoll_ >= 0) ::close(epoll_);
}

bool ProcessWatch::add(std::uint32_t key, const ProcessAddress& process) {
    if (epoll_ < 0 || self_.pid_namespace == 0 || process.pid_namespace != self_.pid_namespace) return false;
    // The system call sets close-on-exec.
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
    if (pidfd < 0 && errno == ESRCH) return already_gone_.push_back(key), true;
    if (pidfd < 0) return false;
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.u32 = key;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, pidfd, &wanted) != 0) {
        ::close(pidfd);
        return false;
    }
    pidfds_[key] = pidfd;
    return true;
}

void ProcessWatch::remove(std::uint32_t key) {
    std::erase(already_gone_, key);
    const auto found = pidfds_.find(key);
    if (found == pidfds_.end()) return;
    ::close(found->second);
    pidfds_.erase(found);
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
