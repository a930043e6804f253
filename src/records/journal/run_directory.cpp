#include "records/journal/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/read_write.h"

namespace wq::records::journal {

namespace {

namespace fs = std::filesystem;

Error cannot_make(const std::string& path, int error_number) {
    const bool forbidden = error_number == EACCES || error_number == EPERM || error_number == EROFS;
    return {forbidden ? ExitCode::not_allowed : ExitCode::usage,
            "cannot create the run directory " + path + ": " + std::generic_category().message(error_number) +
                "; choose another with --run-dir"};
}

constexpr std::string_view holder_begins = "pid ";

bool is_empty_but_for_lock(const std::string& path) {
    std::error_code error;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
        if (at->path().filename() != "lock") return false;
    }
    return !error;
}

// `lock` is asked apart: a directory that was copied may lack it.
bool is_foreign(const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error) && ::access((path + "/status").c_str(), F_OK) != 0 &&
           ::access((path + "/journal").c_str(), F_OK) != 0 && !is_empty_but_for_lock(path);
}

Error not_of_a_run(const std::string& path) {
    return {ExitCode::usage,
            "run directory " + path + " exists and does not belong to a run: choose another with --run-dir"};
}

// Returns 0 or flock's errno; systems without locks count as locked.
int lock_now(int fd) {
    while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP) return 0;
        return errno;
    }
    return 0;
}

std::string read_holder(int fd) {
    char buffer[400];
    const ssize_t n = ::pread(fd, buffer, sizeof buffer, 0);
    const std::string text(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
    return text.substr(0, text.find('\n'));
}

// A run names itself in `lock` before it writes anything else, so this holds for one that was killed at any
// moment.
bool a_run_held(int fd) {
    return read_holder(fd).starts_with(holder_begins);
}

Status write_holder(const std::string& path, int fd) {
    const std::string text = std::string(holder_begins) + std::to_string(::getpid()) + " on " + host_name() +
                             " since " + format_utc(wall_now()) + "\n";
    if (!write_all_at(fd, text, 0) || ::ftruncate(fd, static_cast<off_t>(text.size())) != 0)
        return write_error(path, errno);
    return success();
}

}  // namespace

bool RunDirectory::is_taken(const std::string& path) {
    const Descriptor lock(::open((path + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    return lock.valid() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool may_be_live(const std::string& run_directory, const RunStatus& status) {
    constexpr auto still_fresh = std::chrono::minutes(1);
    if (RunDirectory::is_taken(run_directory)) return true;
    if (status.state != "running" || is_gone(status.host, status.pid)) return false;
    std::error_code unknown;
    const auto written = fs::last_write_time(run_directory + "/status", unknown);
    return !unknown && fs::file_time_type::clock::now() - written < still_fresh;
}

Result<RunDirectory> RunDirectory::take(const std::string& path, Use use) {
    if (use == Use::resume) {
        struct stat status {};
        if (::stat(path.c_str(), &status) != 0) {
            return Error{ExitCode::usage, "nothing to resume: no run directory " + path};
        }
    } else if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
        return cannot_make(path, errno);
    }
    const std::string lock_path = path + "/lock";
    // Before we write anything into it.
    if (::access(lock_path.c_str(), F_OK) != 0 && is_foreign(path)) return not_of_a_run(path);
    Descriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock.valid()) return cannot_make(path, errno);
    if (const int error_number = lock_now(lock.get()); error_number == EWOULDBLOCK) {
        const std::string holder = read_holder(lock.get());
        return Error{ExitCode::interrupted, "run directory " + path + " is in use by the run " +
                                                (holder.empty() ? "of unknown pid" : "with " + holder) +
                                                "; wait for it to end or choose another " + "with --run-dir"};
    } else if (error_number != 0) {
        return cannot_make(path, error_number);
    }

    struct stat journal {};
    const bool has_journal = ::stat((path + "/journal").c_str(), &journal) == 0 && journal.st_size > 0;
    if (use == Use::resume && !has_journal) {
        return Error{ExitCode::usage, "nothing to resume: " + path + " holds no journal of a run"};
    }
    if (use == Use::fresh && has_journal) {
        return Error{ExitCode::usage, "run directory " + path +
                                          " exists: use --resume to continue that run, or choose another " +
                                          "with --run-dir"};
    }
    if (!has_journal && !a_run_held(lock.get()) && is_foreign(path)) return not_of_a_run(path);
    if (auto written = write_holder(lock_path, lock.get()); !written) return written.error();
    return RunDirectory(path, std::move(lock), has_journal);
}

Result<RunListCopy> RunListCopy::begin(const std::string& run_directory) {
    auto file = AppendFile::open(run_directory + "/list.part", 0);
    if (!file) return file.error();
    return RunListCopy(std::move(*file));
}

Status RunListCopy::finish() {
    const std::string& part = file_.path();
    return file_.rename(part.substr(0, part.size() - std::string_view(".part").size()));
}

}  // namespace wq::records::journal
