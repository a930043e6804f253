#include "records/journal/debug_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/time.h"
#include "base/units.h"

namespace wq::records::journal {

namespace {

template <class F>
void for_each_word(std::string_view text, F&& visit) {
    while (!text.empty()) {
        const std::size_t end = text.find_first_of(" ,\t");
        if (end != 0) visit(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

bool is_subsystem(std::string_view word) {
    bool known = false;
    for_each_word(DebugLog::subsystems, [&](std::string_view one) { known = known || one == word; });
    return known;
}

std::string stamp(WallMicros when) {
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%06d", static_cast<int>(when % 1'000'000));
    return local_time(when, "%Y/%m/%d %H:%M:%S") + fraction;
}

}  // namespace

Result<std::unique_ptr<DebugLog>> DebugLog::open(const DebugLogOptions& options) {
    std::unique_ptr<DebugLog> log(new DebugLog(options));
    std::string unknown;
    for_each_word(options.flags, [&](std::string_view word) {
        if (word == "all")
            log->all_ = true;
        else if (word == "clear")
            log->all_ = false, log->flags_.clear();
        else if (is_subsystem(word))
            log->flags_.emplace(word);
        else if (unknown.empty())
            unknown = word;
    });
    if (!unknown.empty())
        return Error{ExitCode::usage, "debug flag " + quote_for_message(unknown) +
                                          " is not one of: all clear " + std::string(subsystems)};
    log->is_file_ = !options.path.empty() && options.path != "-";
    if (!log->reopen())
        return Error{errno == EACCES ? ExitCode::not_allowed : ExitCode::interrupted,
                     "debug log " + options.path + " cannot be opened: " + std::strerror(errno)};
    return log;
}

DebugLog::~DebugLog() {
    if (is_file_ && descriptor_ >= 0) ::close(descriptor_);
}

bool DebugLog::reopen() {
    if (!is_file_) {
        descriptor_ = STDERR_FILENO;
        return true;
    }
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::open(options_.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    struct stat info {};
    size_ =
        descriptor_ >= 0 && ::fstat(descriptor_, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
    return descriptor_ >= 0;
}

void DebugLog::write(std::string_view subsystem, std::string_view text) {
    if (wants(subsystem)) write(subsystem, text, wall_now());
}

void DebugLog::write(std::string_view subsystem, std::string_view text, WallMicros when) {
    if (!wants(subsystem)) return;
    const std::lock_guard lock(mutex_);
    std::string line =
        (torn_ ? "\n" : "") + stamp(when) + " " + options_.program + "[" + std::to_string(::getpid()) + "] ";
    line.append(subsystem).append(": ");
    for (const char byte : text) line += byte == '\n' || byte == '\r' ? ' ' : byte;
    line += '\n';
    if (is_file_ && options_.rotate_bytes > 0 && size_ > 0 && size_ + line.size() > options_.rotate_bytes)
        rotate();
    // If a rotation found no descriptor, reopen as soon as there is one.
    if (descriptor_ < 0 && !reopen()) return note_trouble(errno);
    errno = ENOSPC;  // for a partial write
    // One write per line: other processes may write to the same file.
    const ssize_t written = ::write(descriptor_, line.data(), line.size());
    if (written > 0) size_ += static_cast<std::uint64_t>(written);
    if (written > 0) torn_ = written != static_cast<ssize_t>(line.size());
    if (written != static_cast<ssize_t>(line.size())) note_trouble(errno);
}

void DebugLog::rotate() {
    ::rename(options_.path.c_str(), (options_.path + ".old").c_str());
    reopen();
}

void DebugLog::note_trouble(int error) {
    if (std::exchange(had_trouble_, true)) return;
    trouble_ = Error{ExitCode::interrupted, "debug log " + (is_file_ ? options_.path : "stderr") +
                                                " cannot be written: " + std::strerror(error) +
                                                "; some of its lines are missing"};
}

std::optional<Error> DebugLog::take_trouble() {
    const std::lock_guard lock(mutex_);
    return std::exchange(trouble_, std::nullopt);
}

}  // namespace wq::records::journal
