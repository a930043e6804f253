#include "factory/own_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <system_error>
#include <vector>

#include "base/find_program.h"
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

namespace {

namespace fs = std::filesystem;

constexpr int levels = 6;  // build/test/bin; scripts beside build

std::string find_submit() {
    if (const char* folder = std::getenv("WORK_QUEUE_SCRIPTS"); folder != nullptr && *folder != '\0') {
        const std::string named = std::string(folder) + "/submit_workers";
        return is_executable_file(named) ? named : "";
    }
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    const auto found = find_above(program.parent_path().string(),
                                  {WQ_SCRIPTS_PLACE "/submit_workers", "scripts/submit_workers"}, levels);
    const std::string installed = WQ_SCRIPTS_INSTALLED "/submit_workers";
    return found ? *found : is_executable_file(installed) ? installed : "";
}

std::string systems_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (is_executable_file(entry.path() / "driver")) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
}

// Those of CCTools' factory that have no driver here.
std::string_view in_its_place(std::string_view system) {
    constexpr std::string_view driver =
        "give the path of a driver of your own (guide: On your cluster, Adding a batch system)";
    constexpr std::string_view started =
        "start work_queue_worker HOST PORT there yourself, as its image or user data";
    constexpr std::string_view inner = "use -T local inside its tasks, or the batch system below it";
    constexpr std::pair<std::string_view, std::string_view> all[] = {
        {"amazon", started}, {"cluster", driver},
        {"flux", driver},    {"k8s", started},
        {"mesos", started},  {"moab", "use the system below Moab: -T torque, pbs or slurm"},
        {"vine", inner},     {"wq", inner}};
    for (const auto& [name, use] : all)
        if (name == system) return use;
    return {};
}

}  // namespace

Result<Scripts> find_scripts(const std::string& system) {
    const std::string submit = find_submit();
    if (submit.empty())
        return Error{ExitCode::unreachable,
                     "the scripts of batch systems are neither near this program nor in " WQ_SCRIPTS_INSTALLED
                     ": install the project, or set WORK_QUEUE_SCRIPTS to their folder"};
    const fs::path folder = fs::path(submit).parent_path();
    const bool is_path = system.find('/') != std::string::npos;
    std::error_code error;
    const fs::path driver =
        is_path ? fs::absolute(system, error) : folder / (system == "sge" ? "uge" : system) / "driver";
    if (is_executable_file(driver)) return Scripts{submit, driver.string()};
    if (const std::string_view use = in_its_place(system); !use.empty())
        return Error{ExitCode::usage, "-T " + system + " is not supported: " + std::string(use)};
    return Error{ExitCode::usage,
                 is_path ? quote_for_message(system) +
                               " cannot be executed; -T takes a batch system, or the path of a driver"
                         : "-T " + quote_for_message(system) + ": there are " + systems_in(folder) +
                               ", and paths of drivers, which contain a '/'"};
}

}  // namespace wq::factory
