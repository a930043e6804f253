#include "shared_list/ssh/ssh_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <utility>

namespace wq::shared_list::ssh {

namespace {

// Both ends of a pipe to read from, and of a socket to write to: a write to a process that has ended must not
// raise SIGPIPE.
struct Ends {
    Descriptor ours;
    Descriptor theirs;
};

bool open_pipe(Ends& ends) {
    int both[2];
    if (::pipe2(both, O_CLOEXEC) != 0) return false;
    ends.ours.reset(both[0]);
    ends.theirs.reset(both[1]);
    return ::fcntl(both[0], F_SETFL, O_NONBLOCK) == 0;
}

bool open_socket(Ends& ends) {
    int both[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) return false;
    ends.ours.reset(both[0]);
    ends.theirs.reset(both[1]);
    return ::fcntl(both[0], F_SETFL, O_NONBLOCK) == 0;
}

// Signals are as at a program's start, whatever we block or ignore.
int spawn_with(const std::vector<std::string>& words, const Ends& in, const Ends& out, const Ends& errors,
               pid_t& child) {
    ::posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, in.theirs.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, out.theirs.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, errors.theirs.get(), STDERR_FILENO);
    ::posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&handled, signal);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &handled);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int error = ::posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    return error;
}

// Whether the process ended within the limit. A kernel without pidfd_open() (Linux 5.3) does not say.
bool ends_within(pid_t child, Duration limit) {
#ifdef SYS_pidfd_open
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    if (!process.valid()) return false;
    const Instant until = instant_now() + limit;
    while (true) {
        pollfd ended{process.get(), POLLIN, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - instant_now()).count();
        const int ready = ::poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
        if (ready >= 0 || errno != EINTR) return ready > 0;
    }
#else
    static_cast<void>(child), static_cast<void>(limit);
    return false;
#endif
}

}  // namespace

std::vector<std::string> ssh_command() {
    const char* const told = std::getenv("RUNTASK_SSH");
    std::istringstream text(told == nullptr ? "" : told);
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    if (words.empty()) words.emplace_back("ssh");
    return words;
}

Result<SshProcess> SshProcess::start(const std::vector<std::string>& words) {
    Ends in;
    Ends out;
    Ends errors;
    SshProcess process;
    int error = open_socket(in) && open_pipe(out) && open_pipe(errors) ? 0 : errno;
    if (error == 0) error = spawn_with(words, in, out, errors, process.child_);
    if (error != 0)
        return Error{ExitCode::unreachable,
                     "cannot start " + words[0] + ": " + std::strerror(error) +
                         (error == ENOENT ? "; install an ssh client, or set RUNTASK_SSH to its path" : "")};
    process.in_ = std::move(in.ours);
    process.out_ = std::move(out.ours);
    process.errors_ = std::move(errors.ours);
    return process;
}

SshProcess::SshProcess(SshProcess&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      errors_(std::move(other.errors_)) {}

SshProcess::~SshProcess() {
    end(Duration{0});
}

int SshProcess::end(Duration limit) {
    if (child_ <= 0) return 0;
    in_.reset();
    const pid_t child = std::exchange(child_, -1);
    if (!ends_within(child, limit)) ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace wq::shared_list::ssh
