#include "host/disk_meter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/time.h"

namespace wq::host {

namespace {

constexpr int socket_place = 3;
constexpr std::size_t longest_request = 64u << 10;
constexpr std::int64_t rest_for_work = 49;                         // 2 % of a core
constexpr Duration worth_resting = std::chrono::milliseconds(50);  // shorter rests come together
constexpr std::int64_t entries_between_looks = 64;

struct RequestHead {
    std::uint64_t number = 0;
    std::int64_t enough_bytes = 0;
};

Duration cpu_time() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Has it rest for as long as its work has earned it.
class Budget {
  public:
    void pay() {
        const Duration now = cpu_time();
        owed_ += rest_for_work * (now - paid_);
        paid_ = now;
        if (owed_ < worth_resting) return;
        pollfd hung_up{socket_place, 0, 0};
        const Instant begin = instant_now();
        poll(&hung_up, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(owed_).count()));
        if (hung_up.revents != 0) _exit(0);
        owed_ = std::max(Duration::zero(), owed_ - (instant_now() - begin));
    }

  private:
    Duration paid_ = cpu_time();
    Duration owed_{};
};

void take_low_priority() {
    constexpr int of_process = 1;
    constexpr int idle_class = 3 << 13;  // libc has no names for them
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, of_process, 0, idle_class);
}

[[noreturn]] void meter_main() {
    prctl(PR_SET_NAME, "wq_disk");
    take_low_priority();
    if (chdir("/") != 0) _exit(1);
    std::vector<char> request(longest_request);
    Budget budget;
    for (;;) {
        const ssize_t got = recv(socket_place, request.data(), request.size(), 0);
        if (got < static_cast<ssize_t>(sizeof(RequestHead))) _exit(0);
        RequestHead head;
        std::memcpy(&head, request.data(), sizeof head);
        std::vector<std::string> folders;
        std::string_view rest(request.data() + sizeof head, static_cast<std::size_t>(got) - sizeof head);
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\0'), rest.size());
            folders.emplace_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        const DiskUse use = disk_use(folders, [&](const DiskUse& sofar) {
            if (sofar.files % entries_between_looks == 0) budget.pay();
            return head.enough_bytes == 0 || sofar.bytes <= head.enough_bytes;
        });
        const DiskMeter::Answer answer{head.number, use};
        if (send(socket_place, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) _exit(0);
        budget.pay();
    }
}

}  // namespace

pid_t DiskMeter::start() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    Descriptor ours(ends[0]);
    const Descriptor theirs(ends[1]);
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (theirs.get() != socket_place) dup2(theirs.get(), socket_place);
        close_from(socket_place + 1);
        meter_main();
    }
    if (pid > 0) socket_ = std::move(ours);
    busy_ = false;
    return pid;
}

void DiskMeter::ask(std::uint64_t number, const std::vector<std::string>& folders,
                    std::int64_t enough_bytes) {
    const RequestHead head{number, enough_bytes};
    std::string request(reinterpret_cast<const char*>(&head), sizeof head);
    for (const std::string& folder : folders) request += folder, request += '\0';
    if (request.size() > longest_request) return;
    const ssize_t put = send(socket_.get(), request.data(), request.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    busy_ = put > 0;
    if (put < 0 && errno != EAGAIN) gone();
}

std::optional<DiskMeter::Answer> DiskMeter::answer() {
    Answer answer;
    const ssize_t got = recv(socket_.get(), &answer, sizeof answer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (got != sizeof answer) {
        gone();
        return std::nullopt;
    }
    busy_ = false;
    return answer;
}

void DiskMeter::gone() {
    socket_.reset();  // leaves the epoll set with it
    busy_ = false;
}

}  // namespace wq::host
