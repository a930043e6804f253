#include "machine/asked_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace wq::machine {

namespace {

constexpr std::size_t longest_answer = 1u << 20;
constexpr Duration kill_grace = std::chrono::seconds(1);

int milliseconds_until(Instant until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - instant_now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// Returns the status of waitpid(); nullopt: it still runs. Linux before 5.3 has no process descriptors: there
// this waits without a limit.
std::optional<int> wait_for(pid_t child, Instant until) {
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    if (process.valid()) {
        pollfd ended{process.get(), POLLIN, 0};
        while (::poll(&ended, 1, milliseconds_until(until)) < 0 && errno == EINTR) {
        }
    }
    int status = 0;
    if (::waitpid(child, &status, process.valid() ? WNOHANG : 0) != child) return std::nullopt;
    return status;
}

int exit_code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

AskedCommand::AskedCommand(AskedCommand&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      exit_code_(other.exit_code_),
      out_(std::move(other.out_)),
      errors_(std::move(other.errors_)) {}

AskedCommand& AskedCommand::operator=(AskedCommand&& other) noexcept {
    std::swap(child_, other.child_), std::swap(exit_code_, other.exit_code_), std::swap(out_, other.out_);
    std::swap(errors_, other.errors_);
    return *this;
}

AskedCommand::AskedCommand(const std::vector<std::string>& command, Errors errors) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    out_.reset(ends[0]);
    const Descriptor theirs(ends[1]);
    ::posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
    if (errors == Errors::kept) errors_.reset(::memfd_create("errors", MFD_CLOEXEC));
    if (errors_.valid())
        ::posix_spawn_file_actions_adddup2(&files, errors_.get(), STDERR_FILENO);
    else
        ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t ignored;
    sigemptyset(&ignored);
    // Perhaps by us or our parent; pipelines of shells need the first, shells the second.
    sigaddset(&ignored, SIGPIPE);
    sigaddset(&ignored, SIGCHLD);
    ::posix_spawnattr_setsigdefault(&attributes, &ignored);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    if (::posix_spawnp(&child_, words.front(), &files, &attributes, words.data(), environ) != 0) {
        child_ = -1;
        out_.reset();
    }
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
}

std::string AskedCommand::errors() const {
    constexpr off_t most = 4096;
    struct stat file {};
    if (!errors_.valid() || ::fstat(errors_.get(), &file) != 0) return {};
    std::string text(static_cast<std::size_t>(std::min(file.st_size, most)), '\0');
    const ssize_t got =
        ::pread(errors_.get(), text.data(), text.size(), std::max<off_t>(file.st_size - most, 0));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
}

void AskedCommand::end() {
    out_.reset();
    if (child_ <= 0) return;
    ::kill(-child_, SIGKILL);
    // One that hangs in the kernel, for example on a broken GPU, ends when it can: nobody waits for it.
    if (const auto status = wait_for(child_, instant_now() + kill_grace)) exit_code_ = exit_code_of(*status);
    child_ = -1;
}

std::optional<std::string> AskedCommand::answer(Duration limit, int stop) {
    const Instant until = instant_now() + limit;
    std::string text;
    bool whole = false;
    while (out_.valid() && !whole && text.size() < longest_answer) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - instant_now());
        pollfd ready[]{{out_.get(), POLLIN, 0}, {stop, POLLIN, 0}};
        const int there = left.count() <= 0 ? 0 : ::poll(ready, 2, static_cast<int>(left.count()));
        if (there < 0 && errno == EINTR) continue;
        if (there <= 0 || ready[1].revents != 0) break;
        std::array<char, 4096> part;
        const ssize_t got = ::read(out_.get(), part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        text.append(part.data(), static_cast<std::size_t>(got));
        whole = got == 0;
    }
    if (whole && child_ > 0) {  // it has closed its output, and is about to end
        if (const auto status = wait_for(child_, until)) exit_code_ = exit_code_of(*status), child_ = -1;
    }
    end();
    if (!whole) return std::nullopt;
    return text;
}

}  // namespace wq::machine
