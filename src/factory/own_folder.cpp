#include "factory/own_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>

#include "base/read_write.h"
#include "base/units.h"
#include "net/session/session_table.h"
#include "records/journal/append_file.h"
#include "records/journal/run_status.h"

namespace wq::factory {

namespace {

constexpr std::size_t longest_name = 200;  // of a feature, less its prefix

Error cannot_use(const std::string& path, int why) {
    return {ExitCode::not_allowed, "cannot use the folder " + path + ": " +
                                       std::generic_category().message(why) + "; give --scratch-dir"};
}

}  // namespace

std::int64_t OwnFolder::number() const {
    std::error_code unknown;
    const std::filesystem::path whole = std::filesystem::canonical(path_, unknown);
    return static_cast<std::int64_t>(
               std::hash<std::string>()(records::journal::host_name() + whole.string()) % 65535) +
           1;
}

Result<OwnFolder> OwnFolder::open(const std::string& path) {
    OwnFolder folder(path);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
        std::filesystem::create_directories(path, error);
        ::chmod(path.c_str(), S_IRWXU);
    }
    if (error) return cannot_use(path, error.value());
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return cannot_use(path, errno);
    // Its scripts are executed.
    if (found.st_uid != ::geteuid() || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return Error{ExitCode::not_allowed,
                     path + " is another user's, or others may write in it; give another --scratch-dir"};
    folder.lock_.reset(::open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!folder.lock_.valid()) return cannot_use(path, errno);
    if (::flock(folder.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return cannot_use(path, errno);
        const auto owner = records::journal::read_whole(path + "/lock");
        return Error{ExitCode::not_allowed,
                     "another factory (" + line_for_message(owner ? *owner : std::string("unknown")) +
                         ") uses " + path + "; choose another folder with --scratch-dir DIR"};
    }
    const std::string owner =
        "process " + std::to_string(::getpid()) + " on " + records::journal::host_name();
    if (::ftruncate(folder.lock_.get(), 0) != 0 || !write_all_at(folder.lock_.get(), owner, 0))
        return cannot_use(path, errno);
    return folder;
}

Status OwnFolder::claim(const std::string& driver, bool has_jobs) const {
    const bool local = std::filesystem::path(driver).parent_path().filename() == "local";
    const std::string system = driver + (local ? " on " + records::journal::host_name() : std::string());
    const std::string file = path_ + "/system";
    if (const auto known = records::journal::read_whole(file); known && *known != system && has_jobs)
        return Error{ExitCode::not_allowed,
                     path_ + " has jobs of another batch system (" + line_for_message(*known) +
                         "): end them by a factory for that one, or give another --scratch-dir"};
    return records::journal::write_atomically(file, system);
}

Result<std::string> OwnFolder::name(const std::string& wanted) const {
    const std::string file = path_ + "/name";
    const auto plain = [](char c) { return c > ' ' && c <= '~'; };
    if (wanted.size() > longest_name || !std::all_of(wanted.begin(), wanted.end(), plain))
        return Error{ExitCode::usage, "factory-name " + quote_for_message(wanted) + ": up to " +
                                          std::to_string(longest_name) + " characters without blanks"};
    if (wanted.empty())
        if (auto known = records::journal::read_whole(file); known && !known->empty()) return *known;
    const std::string name =
        wanted.empty() ? "factory-" + net::session::random_token().substr(0, 12) : wanted;
    if (const Status written = records::journal::write_atomically(file, name); !written)
        return written.error();
    return name;
}

}  // namespace wq::factory
