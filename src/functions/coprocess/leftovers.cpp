#include "functions/coprocess/leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/remove_tree.h"
#include "node/process/process_tree.h"

namespace wq::functions::coprocess {

namespace {

constexpr std::int64_t longest_stderr = 4 << 20;
constexpr std::size_t entries_a_turn = 2000;

std::vector<pid_t> children_of(const node::process::CommandHost& host) {
    std::vector<pid_t> all;
    if (host.pid() > 0)
        node::process::ChildLists{}.append(host.pid(), node::process::ChildLists::Forkers::only_thread, all);
    return all;
}

std::string task_folder(const std::string& folder, const RemoteOrder& order) {
    return folder + "/t." + std::to_string(order.task.value());
}

std::string stderr_in(const std::string& folder) {
    return folder + "/stderr";
}

}  // namespace

void CallOrphans::begin_call(const node::process::CommandHost& host, engine::model::CallMode mode) {
    if (mode != engine::model::CallMode::fork) return forget();
    if (!stay_) stay_ = children_of(host);
}

void CallOrphans::end_call(const node::process::CommandHost& host, engine::model::CallMode mode) const {
    if (mode != engine::model::CallMode::fork || !stay_) return;
    for (const pid_t child : children_of(host))
        if (child != host.command() && std::find(stay_->begin(), stay_->end(), child) == stay_->end())
            node::process::signal_tree(child, SIGKILL);
}

Status make_task_folder(const std::string& folder, const RemoteOrder& order) {
    const std::string path = task_folder(folder, order);
    const auto make = [&] {
        return order.sandbox.empty() ? ::mkdir(path.c_str(), 0700) == 0
                                     : ::symlink(order.sandbox.c_str(), path.c_str()) == 0;
    };
    if (make()) return success();
    if (errno == EEXIST) {  // an earlier function made it
        remove_tree(AT_FDCWD, path);
        if (make()) return success();
    }
    return Error{ExitCode::unreachable, std::string("no folder for the task: ") + std::strerror(errno)};
}

bool remove_task_folder(const std::string& folder, const RemoteOrder& order) {
    std::size_t most = entries_a_turn;
    return remove_some(AT_FDCWD, task_folder(folder, order), most);
}

std::string last_line_of_stderr(const std::string& folder) {
    const Descriptor file(::open(stderr_in(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    std::array<char, 500> bytes;
    const off_t size = file.valid() ? ::lseek(file.get(), 0, SEEK_END) : 0;
    const off_t from = std::max<off_t>(size - static_cast<off_t>(bytes.size()), 0);
    const ssize_t got = size > 0 ? ::pread(file.get(), bytes.data(), bytes.size(), from) : 0;
    std::string text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.find_last_of('\n') + 1);
}

void shorten_stderr(const std::string& folder, std::int64_t disk_mb) {
    struct stat file {};
    const std::string path = stderr_in(folder);
    if (::lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;
    const std::int64_t most = disk_mb > 0 ? std::min(longest_stderr, (disk_mb << 20) / 4) : longest_stderr;
    if (file.st_size > most) static_cast<void>(!::truncate(path.c_str(), 0));
}

}  // namespace wq::functions::coprocess
