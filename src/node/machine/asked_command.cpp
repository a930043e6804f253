#include "node/machine/asked_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace wq::node::machine {

namespace {

constexpr std::size_t longest_answer = 1u << 20;
constexpr int most_parts = 16;  // a pipe has 1 MiB where pages have 64 KiB
constexpr Duration kill_grace = std::chrono::seconds(1);

int milliseconds_until(Instant until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - instant_now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

int exit_code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

AskedCommand::AskedCommand(AskedCommand&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      exit_code_(other.exit_code_),
      out_(std::move(other.out_)),
      errors_(std::move(other.errors_)),
      error_text_(std::move(other.error_text_)),
      stopped_(other.stopped_) {}

AskedCommand& AskedCommand::operator=(AskedCommand&& other) noexcept {
    std::swap(child_, other.child_), std::swap(exit_code_, other.exit_code_), std::swap(out_, other.out_);
    std::swap(errors_, other.errors_), std::swap(error_text_, other.error_text_);
    std::swap(stopped_, other.stopped_);
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
    Descriptor their_errors;
    int error_ends[2];
    if (errors == Errors::kept && ::pipe2(error_ends, O_CLOEXEC) == 0) {
        errors_.reset(error_ends[0]);
        their_errors.reset(error_ends[1]);
        ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
        ::posix_spawn_file_actions_adddup2(&files, their_errors.get(), STDERR_FILENO);
    } else
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

// A part only: a command that never stops writing is not read for ever.
void AskedCommand::read_errors() {
    constexpr std::size_t most_kept = 4096;
    std::array<char, 65536> part;
    const ssize_t got = errors_.valid() ? ::read(errors_.get(), part.data(), part.size()) : 0;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) return errors_.reset();
    error_text_.append(part.data(), static_cast<std::size_t>(got));
    if (error_text_.size() > most_kept) error_text_.erase(0, error_text_.size() - most_kept);
}

// Returns the status of waitpid(); nullopt: it still runs. Linux before 5.3 has no process descriptors: there
// this looks every 10 ms.
std::optional<int> AskedCommand::wait_for_end(Instant until) {
    constexpr int look_every = 10;
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
    for (;;) {
        int status = 0;
        if (::waitpid(child_, &status, WNOHANG) == child_) return status;
        const int left = milliseconds_until(until);
        if (left <= 0) return std::nullopt;
        pollfd waits[]{{process.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}};
        if (::poll(waits, 2, process.valid() ? left : std::min(left, look_every)) > 0 &&
            waits[1].revents != 0)
            read_errors();
    }
}

void AskedCommand::end() {
    out_.reset();
    if (child_ <= 0) return;
    ::kill(-child_, SIGKILL);
    // One that hangs in the kernel, for example on a broken GPU, ends when it can: nobody waits for it.
    if (const auto status = wait_for_end(instant_now() + kill_grace)) exit_code_ = exit_code_of(*status);
    child_ = -1;
}

std::optional<std::string> AskedCommand::answer(Duration limit, int stop) {
    const Instant until = instant_now() + limit;
    std::string text;
    bool whole = false;
    while (out_.valid() && !whole && text.size() < longest_answer) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - instant_now());
        pollfd ready[]{{out_.get(), POLLIN, 0}, {stop, POLLIN, 0}, {errors_.get(), POLLIN, 0}};
        const int there = left.count() <= 0 ? 0 : ::poll(ready, 3, static_cast<int>(left.count()));
        if (there < 0 && errno == EINTR) continue;
        stopped_ = there > 0 && ready[1].revents != 0;
        if (there <= 0 || stopped_) break;
        if (ready[2].revents != 0) read_errors();
        if (ready[0].revents == 0) continue;
        std::array<char, 4096> part;
        const ssize_t got = ::read(out_.get(), part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        text.append(part.data(), static_cast<std::size_t>(got));
        whole = got == 0;
    }
    if (whole && child_ > 0) {  // it has closed its output, and is about to end
        if (const auto status = wait_for_end(until)) exit_code_ = exit_code_of(*status), child_ = -1;
    }
    end();
    for (int parts = 0; parts < most_parts && errors_.valid(); ++parts) read_errors();
    if (!whole) return std::nullopt;
    return text;
}

}  // namespace wq::node::machine
