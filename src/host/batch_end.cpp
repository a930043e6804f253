#include "host/batch_end.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

namespace wq::host {

namespace {

constexpr std::size_t longest_answer = 1u << 20;
constexpr std::int64_t micros = 1'000'000;
// Of an end, in 2169: no job lasts so long, and in nanoseconds from now on it is still a time.
constexpr WallMicros latest = std::int64_t{200} * 365 * 24 * 3600 * micros;

std::string file_text(const char* path) {
    std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool given(const char* value) {
    return value != nullptr && *value != '\0';
}

}  // namespace

BatchEnd BatchEnd::ask(const Variable& variable, WallMicros now) {
    BatchEnd asked;
    if (const char* end = variable("SLURM_JOB_END_TIME"); given(end)) {
        const long long seconds = std::strtoll(end, nullptr, 10);
        if (seconds > 0 && seconds < latest / micros) asked.known_ = seconds * micros;
    } else if (const char* job = variable("SLURM_JOB_ID"); given(job)) {
        asked.read_ = [](std::string_view text) { return end_in_scontrol(text); };
        asked.start({"scontrol", "show", "job", job});
    } else if (const char* id = variable("PBS_JOBID"); given(id)) {
        if (const char* time = variable("PBS_WALLTIME"); given(time))
            if (const auto seconds = pbs_seconds(time)) asked.otherwise_ = now + *seconds * micros;
        asked.read_ = [now](std::string_view text) { return end_in_qstat(text, now); };
        asked.start({"qstat", "-f", id});
    } else if (given(variable("_CONDOR_JOB_AD")) || given(variable("_CONDOR_MACHINE_AD"))) {
        asked.known_ = end_in_condor_ads(file_text(variable("_CONDOR_JOB_AD")),
                                         file_text(variable("_CONDOR_MACHINE_AD")), now);
    }
    return asked;
}

BatchEnd::BatchEnd(BatchEnd&& other) noexcept
    : known_(other.known_),
      otherwise_(other.otherwise_),
      read_(std::move(other.read_)),
      child_(std::exchange(other.child_, -1)),
      out_(std::move(other.out_)),
      text_(std::move(other.text_)) {}

BatchEnd& BatchEnd::operator=(BatchEnd&& other) noexcept {
    std::swap(known_, other.known_), std::swap(otherwise_, other.otherwise_), std::swap(read_, other.read_);
    std::swap(child_, other.child_), std::swap(out_, other.out_), std::swap(text_, other.text_);
    return *this;
}

BatchEnd::~BatchEnd() {
    end_command();
}

void BatchEnd::end_command() {
    out_.reset();
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
}

void BatchEnd::start(const std::vector<std::string>& command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    out_.reset(ends[0]);
    const Descriptor theirs(ends[1]);
    ::posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
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

std::optional<WallMicros> BatchEnd::wait(Duration limit) {
    const auto end = answer(limit);
    return end && *end > 0 && *end < latest ? end : std::nullopt;
}

std::optional<WallMicros> BatchEnd::answer(Duration limit) {
    if (known_ || !read_) return known_ ? known_ : otherwise_;
    const Instant until = instant_now() + limit;
    bool whole = false;
    while (out_.valid() && !whole && text_.size() < longest_answer) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - instant_now());
        pollfd ready{out_.get(), POLLIN, 0};
        if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) break;
        std::array<char, 4096> part;
        const ssize_t got = ::read(out_.get(), part.data(), part.size());
        if (got > 0) text_.append(part.data(), static_cast<std::size_t>(got));
        whole = got <= 0;
    }
    end_command();
    if (whole) known_ = read_(text_);
    read_ = nullptr;
    return known_ ? known_ : otherwise_;
}

}  // namespace wq::host
