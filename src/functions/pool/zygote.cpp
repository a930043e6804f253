#include "functions/pool/zygote.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/time.h"
#include "functions/pool/channel.h"
#include "functions/pool/function_process.h"
#include "node/process/fork_server.h"
#include "node/process/passed_descriptors.h"
#include "node/process/process_tree.h"

namespace wq::functions::pool {

namespace {

const void* library_of(const FunctionPlace& function) {
    Dl_info facts{};
    if (dladdr(reinterpret_cast<const void*>(function.run), &facts) == 0) return nullptr;
    return facts.dli_fbase;
}

}  // namespace

FunctionPlace FunctionPlace::of(const detail::JobFunction& function) {
    FunctionPlace place;
    place.run = function.run;
    place.callable = function.callable;
    place.bytes = function.bytes;
    std::memcpy(place.copy.data(), function.callable, function.bytes);
    place.library = library_of(place);
    return place;
}

bool FunctionPlace::is_here() const {
    return library_of(*this) == library;
}

namespace {

struct Child {
    std::uint32_t lane;
    std::uint64_t life;
    pid_t pid;
};

// Of the program, whose end of `control` this is not.
Descriptor watch_peer(int control) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(control, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) return Descriptor();
    return end_descriptor_of(peer.pid);
}

pid_t fork_with_hooks(const OwnFunction* own) {
    if (own != nullptr) own->before_fork();
    const pid_t pid = fork();
    const int error = errno;
    if (own != nullptr) own->after_fork(pid == 0);
    errno = error;
    return pid;
}

class Zygote {
  public:
    Zygote(int control, const OwnFunction* own, bool another_was_killed)
        : control_(control), own_(own), program_(watch_peer(control)) {
        if (another_was_killed) reports_.push_back({ZygoteReport::Kind::zygote_lost, 0, 0, 0, 0});
    }

    void run() {
        for (bool goes_on = true; goes_on;) {
            const auto events = static_cast<short>(reports_.empty() ? POLLIN : POLLIN | POLLOUT);
            std::array<pollfd, 3> ready{
                {{control_, events, 0}, {ends_.descriptor(), POLLIN, 0}, {program_.get(), POLLIN, 0}}};
            poll(ready.data(), ready.size(), -1);
            if (ready[1].revents != 0) children_ended();
            if ((ready[0].revents & ~POLLOUT) != 0) goes_on = serve();
            goes_on = send_reports() && goes_on;
            if (ready[2].revents != 0) goes_on = false;
        }
        node::process::end_all_children(node::process::kill_limit_ms);
    }

  private:
    bool serve() {
        Request request;
        std::vector<Descriptor> files;
        const ssize_t got = node::process::receive_descriptors(
            control_, node::process::writable_bytes_of_value(request), files);
        if (got == 0 || (got < 0 && errno != EMFILE)) return false;
        switch (request.kind) {
            case Request::Kind::fork:
                return fork_worker(request, files);
            case Request::Kind::kill:
                for (const Child& child : children_)
                    if (child.life == request.life) ::kill(child.pid, SIGKILL);
                return true;
            case Request::Kind::streams:
                for (std::size_t at = 0; at < files.size() && at < 2; ++at)
                    dup2(files[at].get(), STDOUT_FILENO + static_cast<int>(at));
                return true;
        }
        return true;
    }

    bool fork_worker(Request& request, std::vector<Descriptor>& files) {
        ZygoteReport report{ZygoteReport::Kind::not_forked, request.lane, request.life, 0, 0};
        if (own_ != nullptr) request.function = own_->function;
        if (files.size() != 3 || !request.function.is_here()) {
            report.value = files.size() != 3 ? EMFILE : ENOEXEC;
            reports_.push_back(report);
            return true;
        }
        const pid_t ours = getpid();
        report.pid = fork_with_hooks(own_);
        if (report.pid == 0) begin_worker(ours, request, files);
        const int error = errno;
        if (report.pid < 0) {
            report.value = error;
        } else {
            children_.push_back({request.lane, request.life, report.pid});
            report.kind = ZygoteReport::Kind::forked;
        }
        reports_.push_back(report);
        return true;
    }

    [[noreturn]] void begin_worker(pid_t parent, Request& request, std::vector<Descriptor>& files) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(0);
        prctl(PR_SET_NAME, "wq_job_worker");
        ::close(control_);
        program_.reset();
        ends_.close();
        node::process::leave_fork_server();
        if (own_ != nullptr) own_->begin_worker();
        worker_main(std::move(files[0]), std::move(files[1]), std::move(files[2]), request.function);
    }

    void children_ended() {
        ends_.reap([this](pid_t pid, int status) {
            const auto child = std::find_if(children_.begin(), children_.end(),
                                            [pid](const Child& one) { return one.pid == pid; });
            if (child == children_.end()) return;  // an orphan of a worker
            reports_.push_back({ZygoteReport::Kind::ended, child->lane, child->life, pid, status});
            children_.erase(child);
        });
    }

    // Never waits: the program may wait for us to read its requests, before it reads what we tell. A socket
    // takes some 300 messages. False: the program is gone.
    bool send_reports() {
        for (; !reports_.empty(); reports_.pop_front()) {
            if (send(control_, &reports_.front(), sizeof(ZygoteReport), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
                continue;
            return errno == EAGAIN || errno == ENOBUFS || errno == EINTR;
        }
        return true;
    }

    int control_;
    const OwnFunction* own_;  // null: the program's
    Descriptor program_;
    node::process::ChildEnds ends_;
    std::vector<Child> children_;
    std::deque<ZygoteReport> reports_;  // untold
};

std::vector<int> open_descriptors() {
    std::vector<int> found;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr)
        if (entry->d_name[0] != '.') found.push_back(std::atoi(entry->d_name));
    return found;
}

// The program's descriptors are closed: one of them could delay somebody's end of file. But objects of the
// program that have their numbers, such as streams, are in the workers, too, and what these write must not
// come into our descriptors, or into arrays: so their numbers lead nowhere, and ours are above.
int keep_control(int control) {
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    const std::vector<int> taken = open_descriptors();
    const int above = *std::max_element(taken.begin(), taken.end()) + 1;
    const int place = fcntl(control, F_DUPFD_CLOEXEC, above);
    if (place < 0) return control;  // at the limit of descriptors: nothing can be closed safely
    for (const int one : taken)
        if (one > STDERR_FILENO && one != nothing.get()) dup3(nothing.get(), one, O_CLOEXEC);
    dup2(nothing.get(), STDIN_FILENO);
    return place;
}

// ThreadSanitizer's own.
#if defined(__SANITIZE_THREAD__)
constexpr std::size_t other_threads = 1;
#else
constexpr std::size_t other_threads = 0;
#endif

std::size_t count_threads() {
    const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), closedir);
    std::size_t count = 0;
    while (const dirent* entry = tasks ? readdir(tasks.get()) : nullptr) count += entry->d_name[0] != '.';
    return count;
}

bool mpi_has_begun() {
    using Initialized = int (*)(int*);
    const auto initialized = reinterpret_cast<Initialized>(dlsym(RTLD_DEFAULT, "MPI_Initialized"));
    int flag = 0;
    return initialized != nullptr && initialized(&flag) == 0 && flag != 0;
}

Status check_can_fork() {
    const char* const remedy =
        "; make the JobExecutor before, or from an MpiSession that starts MPI, or with 0 workers";
    if (mpi_has_begun())
        return Error{ExitCode::unreachable, std::string("workers cannot be forked after MPI_Init") + remedy};
    std::size_t threads = count_threads();
    // The kernel may show a thread for a moment after it was joined.
    for (int looks = 0; looks < 100 && threads > 1 + other_threads; ++looks) {
        ::poll(nullptr, 0, 1);
        threads = count_threads();
    }
    if (threads == 0 || threads > 1 + other_threads)
        return Error{ExitCode::unreachable, "workers cannot be forked from a program that has " +
                                                std::to_string(threads) + " threads" + remedy};
    return success();
}

// Until the zygote ends: by itself, or killed.
bool was_killed(pid_t zygote) {
    int status = 0;
    while (waitpid(zygote, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFSIGNALED(status);
}

[[noreturn]] void keep_zygote(int program_control, const OwnFunction* own) noexcept {
    const int control = keep_control(program_control);
    setsid();
    node::process::become_fork_server("wq_job_keeper");
    __fpurge(stdout);                    // else each worker would write what the program had not written yet
    constexpr int most_short_lives = 5;  // in a row: then something here kills each of them
    constexpr Duration short_life = std::chrono::seconds(1);
    int short_lives = 0;
    for (bool first = true; short_lives < most_short_lives; first = false) {
        const Instant begun = instant_now();
        const pid_t zygote = fork_with_hooks(own);
        if (zygote == 0) {
            node::process::become_fork_server("wq_job_zygote");
            Zygote(control, own, !first).run();
            _exit(0);
        }
        const bool killed = zygote > 0 && was_killed(zygote);
        node::process::end_all_children(node::process::kill_limit_ms);
        if (!killed) break;
        short_lives = instant_now() - begun < short_life ? short_lives + 1 : 0;
    }
    _exit(0);
}

}  // namespace

void zygote_main(int control) noexcept {
    keep_zygote(control, nullptr);
}

void started_zygote_main(int control, const OwnFunction& own) noexcept {
    keep_zygote(control, &own);
}

Result<ZygoteLink> begin_link(Descriptor& theirs) {
    Descriptor ends[2];
    if (!socket_pair(ends))
        return Error{ExitCode::unreachable,
                     std::string("cannot make a socket for workers: ") + strerror(errno)};
    theirs = std::move(ends[1]);
    ZygoteLink link;
    link.control = std::move(ends[0]);
    return link;
}

void lend_streams(int control) {
    Request request;
    request.kind = Request::Kind::streams;
    const std::array<int, 2> files{STDOUT_FILENO, STDERR_FILENO};
    node::process::send_descriptors(control, node::process::bytes_of_value(request), files);
}

Result<ZygoteLink> fork_zygote() {
    if (Status can = check_can_fork(); !can) return can.error();
    Descriptor theirs;
    auto link = begin_link(theirs);
    if (!link) return link;
    link->child = fork();
    if (link->child == 0) zygote_main(theirs.get());
    if (link->child < 0)
        return Error{ExitCode::unreachable,
                     std::string("cannot fork a process for workers: ") + strerror(errno)};
    return link;
}

int poll_limit(Instant until) {
    constexpr std::int64_t longest = 60000;
    const Duration left = until - instant_now();
    if (left.count() <= 0) return 0;
    return static_cast<int>(std::min(left.count() / 1000000 + 1, longest));
}

namespace {

// While it lives, what workers have started are its descendants: so these are killed first, and looked for
// again, as they may have forked meanwhile.
void kill_zygote(pid_t zygote) {
    ::kill(zygote, SIGSTOP);
    constexpr int most_looks = 100;
    std::vector<pid_t> seen;
    for (int look = 0; look < most_looks; ++look) {
        std::vector<pid_t> left = node::process::descendants_of(zygote);
        std::sort(left.begin(), left.end());
        if (std::includes(seen.begin(), seen.end(), left.begin(), left.end())) break;
        for (const pid_t pid : left) ::kill(pid, SIGKILL);
        seen = std::move(left);
    }
    ::kill(zygote, SIGKILL);
}

}  // namespace

void end_zygote(ZygoteLink& zygote, Instant until) {
    if (!zygote.control.valid()) return;
    shutdown(zygote.control.get(), SHUT_WR);
    constexpr Duration least = std::chrono::milliseconds(100);
    const Instant limit = std::max(until, instant_now() + least);
    std::array<std::byte, sizeof(ZygoteReport)> rest;
    for (;;) {
        pollfd ready{zygote.control.get(), POLLIN, 0};
        const int changed = poll(&ready, 1, poll_limit(limit));
        if (changed < 0 && errno == EINTR) continue;
        if (changed <= 0) break;
        const ssize_t got = recv(zygote.control.get(), rest.data(), rest.size(), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) break;
    }
    zygote.control.reset();
    if (zygote.child <= 0) return;
    if (instant_now() >= limit) kill_zygote(zygote.child);
    while (waitpid(zygote.child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace wq::functions::pool
