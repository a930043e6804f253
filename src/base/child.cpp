#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <initializer_list>

namespace wq {

namespace {

// posix_spawn()'s two objects.
class Plan {
  public:
    explicit Plan(const ChildOptions& options) {
        ::posix_spawn_file_actions_init(&files_);
        ::posix_spawnattr_init(&attributes_);
        use(options.in, STDIN_FILENO);
        use(options.out, STDOUT_FILENO);
        use(options.err, STDERR_FILENO);
        if (options.closes_others) ::posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
        set_signals(options.group);
    }
    ~Plan() {
        ::posix_spawnattr_destroy(&attributes_);
        ::posix_spawn_file_actions_destroy(&files_);
    }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    const ::posix_spawn_file_actions_t* files() const { return &files_; }
    const ::posix_spawnattr_t* attributes() const { return &attributes_; }

  private:
    void use(int descriptor, int place) {
        if (descriptor >= 0)
            ::posix_spawn_file_actions_adddup2(&files_, descriptor, place);
        else
            ::posix_spawn_file_actions_addopen(&files_, place, "/dev/null", O_RDWR, 0);
    }
    // Pipelines of shells need SIGPIPE, shells SIGCHLD.
    void set_signals(ChildOptions::Group group) {
        sigset_t none;
        sigset_t defaults;
        ::sigemptyset(&none);
        ::sigemptyset(&defaults);
        for (const int signal : {SIGPIPE, SIGCHLD}) ::sigaddset(&defaults, signal);
        int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
        if (group != ChildOptions::Group::ours) {
            ::sigfillset(&defaults);
            flags |= group == ChildOptions::Group::own ? POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSID;
        }
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
        ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
    }

    ::posix_spawn_file_actions_t files_;
    ::posix_spawnattr_t attributes_;
};

}  // namespace

int exit_code_of(int wait_status) {
    constexpr int signals_from = 128;
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : signals_from + WTERMSIG(wait_status);
}

Descriptor end_descriptor_of(pid_t process) {
    return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

Child::Child(const std::vector<std::string>& words, const ChildOptions& options) : group_(options.group) {
    const Plan plan(options);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    char* const* const environment = options.environment != nullptr ? options.environment : environ;
    error_ = ::posix_spawnp(&pid_, arguments.front(), plan.files(), plan.attributes(), arguments.data(),
                            environment);
    if (error_ != 0) pid_ = -1;
}

Child& Child::operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_), std::swap(group_, other.group_), std::swap(error_, other.error_);
    return *this;
}

void Child::signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
}

void Child::signal_all(int number) const {
    if (pid_ > 0) ::kill(group_ == ChildOptions::Group::ours ? pid_ : -pid_, number);
}

std::optional<int> Child::reaped(int flags) {
    int status = 0;
    pid_t got = 0;
    while ((got = ::waitpid(pid_, &status, flags)) < 0 && errno == EINTR) continue;
    if (got == 0) return std::nullopt;
    pid_ = -1;
    return got > 0 ? exit_code_of(status) : unknown_end;
}

std::optional<int> Child::take_end() {
    return running() ? reaped(WNOHANG) : std::nullopt;
}

int Child::wait() {
    return running() ? reaped(0).value_or(unknown_end) : unknown_end;
}

std::optional<int> Child::wait_until(Instant until) {
    constexpr std::int64_t look_every = 10;
    const Descriptor end = end_descriptor();
    while (running()) {
        if (const auto code = take_end()) return code;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - instant_now()).count();
        if (left <= 0) return std::nullopt;
        pollfd ended{end.get(), POLLIN, 0};
        ::poll(&ended, 1, static_cast<int>(end.valid() ? left : std::min(left, look_every)));
    }
    return std::nullopt;
}

void Child::kill() {
    if (!running()) return;
    signal_all(SIGKILL);
    wait();
}

void Child::release() {
    take_end();
    pid_ = -1;
}

}  // namespace wq
