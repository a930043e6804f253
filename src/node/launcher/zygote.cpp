#include "node/launcher/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/shortage.h"
#include "node/launcher/launcher_process.h"
#include "node/process/process_tree.h"
#include "node/process/scratch.h"
#include "node/usage/task_groups.h"

namespace wq::node::launcher {

namespace {

constexpr int launcher_end_ms = 8000;  // after its rank is gone, a launcher cleans up for at most this long
constexpr std::size_t longest_request = 128 << 10;  // last words may hold a password of 64 KiB

using ChildMain = void (*)(int socket);
constexpr char for_launcher = '+';
constexpr char for_child = '!';
constexpr char for_last_words = '"';

struct Request {
    Descriptor socket;
    std::string scratch;
    ChildMain child = nullptr;              // it is asked for this instead of a launcher
    std::optional<std::string> last_words;  // it only gets these
};

// Returns nullopt if the rank is gone.
std::optional<Request> receive_request(int control) {
    std::string text(longest_request, '\0');
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> ancillary{};
    iovec part{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = ancillary.data();
    message.msg_controllen = ancillary.size();
    const ssize_t got = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
    if (got <= 0) return std::nullopt;
    const char what = text.front();
    text = text.substr(1, static_cast<std::size_t>(got - 1));
    if (what == for_last_words) return Request{{}, {}, nullptr, std::move(text)};
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return std::nullopt;
    int socket = -1;
    std::memcpy(&socket, CMSG_DATA(header), sizeof socket);
    Request request{Descriptor(socket), {}, nullptr, {}};
    if (what == for_child && text.size() == sizeof request.child)
        std::memcpy(&request.child, text.data(), sizeof request.child);
    else
        request.scratch = std::move(text);
    return request;
}

class ZygoteProcess {
  public:
    ZygoteProcess(int control, SharedPage& shared, const process::FunctionTable* functions,
                  LastWords say_last_words)
        : control_(control), shared_(shared), functions_(functions), say_last_words_(say_last_words) {
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        signals_.reset(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    }

    void run() {
        for (bool rank_lives = true; rank_lives;) {
            std::array<pollfd, 2> ready{{{control_, POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
            poll(ready.data(), ready.size(), -1);
            if (ready[1].revents != 0) children_ended();
            if (ready[0].revents != 0) rank_lives = serve();
        }
        outlive_launcher();
    }

  private:
    bool serve() {
        auto request = receive_request(control_);
        if (!request) return false;
        if (request->last_words) {
            last_words_ = std::move(*request->last_words);
            return true;
        }
        if (request->child != nullptr) return fork_child(*request);
        if (launcher_ > 0) end_launcher();
        if (!request->scratch.empty()) {
            auto folder = process::ScratchFolder::make(request->scratch);
            if (!folder) return tell(ZygoteNews::Kind::no_scratch, errno);
            scratch_ = std::move(*folder);
            const std::size_t size = std::min(scratch_.path().size(), shared_.scratch.size() - 1);
            scratch_.path().copy(shared_.scratch.data(), size);
            shared_.scratch[size] = '\0';
        }
        Pipe lifeline = open_pipe();
        if (!lifeline.valid()) return give_up(errno);
        lifeline_ = std::move(lifeline.write);
        launcher_ = fork();
        if (launcher_ == 0) {
            close(control_);
            lifeline_.reset();
            signals_.reset();
            launcher_main(request->socket.get(), lifeline.read.get(), shared_, functions_,
                          std::move(scratch_));
        }
        if (launcher_ < 0) return give_up(errno);
        const bool heard = tell(ZygoteNews::Kind::forked, launcher_);
        if (!request->scratch.empty()) clear_up(request->scratch);
        return heard;
    }

    // If it fails, the socket's other end sees that.
    bool fork_child(const Request& request) {
        const pid_t child = fork();
        if (child == 0) {
            request.child(request.socket.get());
            _exit(0);
        }
        if (child > 0) spared_.push_back(child);
        return true;
    }

    bool give_up(int why) {
        scratch_.remove();
        return tell(ZygoteNews::Kind::not_forked, why);
    }

    // Done in a separate process, because there may be a million files, and nobody should wait for them.
    static void clear_up(const std::string& parent) {
        if (fork() != 0) return;
        close_from(STDERR_FILENO + 1);
        process::remove_abandoned_scratch(parent);
        _exit(0);
    }

    void children_ended() {
        signalfd_siginfo info;
        while (read(signals_.get(), &info, sizeof info) > 0) {
        }
        int status = 0;
        for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
            std::erase(spared_, pid);
            if (pid != launcher_) continue;
            clean_up();
            tell(ZygoteNews::Kind::ended, status, pid);
        }
    }

    // For a launcher that the rank has given up, and that did not end in time.
    void end_launcher() {
        const pid_t launcher = launcher_;
        kill(launcher, SIGKILL);
        int status = 0;
        if (waitpid(launcher, &status, 0) != launcher) status = SIGKILL;
        clean_up();
        tell(ZygoteNews::Kind::ended, status, launcher);
    }

    // All processes that the launcher started are our children now, beside those that are not the launcher's.
    void clean_up() {
        const pid_t launcher = std::exchange(launcher_, -1);
        lifeline_.reset();
        process::end_all_children(process::kill_limit_ms, spared_);
        std::erase_if(spared_, [](pid_t pid) { return kill(pid, 0) != 0; });  // reaped there
        usage::remove_task_groups_of(launcher);
        scratch_.remove();
    }

    // The rank is gone, and the launcher and the other children notice that themselves.
    void outlive_launcher() {
        lifeline_.reset();
        const Instant until = instant_now() + std::chrono::milliseconds(launcher_end_ms);
        while (launcher_ > 0 || !spared_.empty()) {
            const int left = milliseconds_until(until);
            if (left == 0) break;
            pollfd ready{signals_.get(), POLLIN, 0};
            poll(&ready, 1, left);
            children_ended();
        }
        if (launcher_ > 0) clean_up();
        const int rest = milliseconds_until(until + std::chrono::milliseconds(process::kill_limit_ms));
        const bool all_ended = process::end_all_children(rest);
        if (!last_words_.empty() && say_last_words_ != nullptr) say_last_words_(last_words_, all_ended);
    }

    static int milliseconds_until(Instant until) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - instant_now());
        return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }

    bool tell(ZygoteNews::Kind kind, int value, pid_t launcher = 0) const {
        const ZygoteNews news{kind, value, launcher};
        return send(control_, &news, sizeof news, MSG_NOSIGNAL) == sizeof news;
    }

    int control_;
    SharedPage& shared_;
    const process::FunctionTable* functions_;
    LastWords say_last_words_;
    std::string last_words_;
    Descriptor signals_;
    Descriptor lifeline_;
    pid_t launcher_ = -1;
    std::vector<pid_t> spared_;
    process::ScratchFolder scratch_;
};

// Closes the rank's descriptors: if one of mpirun's stayed open here, it would delay mpirun's end.
int keep_only(int control) {
    constexpr int place = 3;
    if (control != place) dup2(control, place);
    fcntl(place, F_SETFD, FD_CLOEXEC);
    close_from(place + 1);
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
    if (nothing > place) close(nothing);
    return place;
}

bool ask(int control, int socket, std::string text) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> ancillary{};
    iovec part{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = ancillary.data();
    message.msg_controllen = ancillary.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &socket, sizeof socket);
    return sendmsg(control, &message, MSG_NOSIGNAL) > 0;
}

}  // namespace

void zygote_main(int rank_control, SharedPage& shared, const process::FunctionTable* functions,
                 LastWords last_words) {
    const int control = keep_only(rank_control);
    setsid();
    prctl(PR_SET_NAME, "wq_zygote");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    ZygoteProcess(control, shared, functions, last_words).run();
    _exit(0);
}

Result<Zygote> fork_zygote(SharedPage& shared, const process::FunctionTable* functions,
                           LastWords last_words) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return refused_by_system("cannot make a socket for the launcher");
    Zygote zygote;
    zygote.control.reset(ends[0]);
    Descriptor theirs(ends[1]);
    zygote.pid = fork();
    if (zygote.pid == 0) zygote_main(theirs.get(), shared, functions, last_words);
    if (zygote.pid < 0) return refused_by_system("cannot fork the launcher");
    return zygote;
}

bool ask_for_launcher(int control, int socket, const std::string& scratch) {
    return ask(control, socket, for_launcher + scratch);
}

bool ask_for_child(int control, int socket, void (*main)(int socket)) {
    return ask(control, socket, for_child + std::string(reinterpret_cast<const char*>(&main), sizeof main));
}

bool leave_last_words(int control, const std::string& words) {
    const std::string text = for_last_words + words;
    return send(control, text.data(), text.size(), MSG_NOSIGNAL) > 0;
}

std::optional<ZygoteNews> hear_zygote(int control, bool& gone) {
    ZygoteNews news;
    const ssize_t got = recv(control, &news, sizeof news, MSG_DONTWAIT);
    gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (got != sizeof news) return std::nullopt;
    return news;
}

}  // namespace wq::node::launcher
