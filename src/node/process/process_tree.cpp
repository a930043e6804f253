#include "node/process/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/child.h"
#include "base/read_write.h"

namespace wq::node::process {

namespace {

std::string proc_path(pid_t pid, const char* what) {
    return "/proc/" + std::to_string(pid) + "/" + what;
}

void parse_pids(std::string_view text, std::vector<pid_t>& pids) {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        pid_t pid = 0;
        const auto [next, error] = std::from_chars(at, end, pid);
        if (error == std::errc{}) pids.push_back(pid);
        at = next + 1;
    }
}

// The names in a folder that are numbers.
std::vector<pid_t> numbers_in(const std::string& folder) {
    std::vector<pid_t> numbers;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), closedir);
    if (!directory) return numbers;
    while (const dirent* entry = readdir(directory.get())) {
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0)
            numbers.push_back(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
    }
    return numbers;
}

std::string own_children_file() {
    return proc_path(getpid(), ("task/" + std::to_string(getpid()) + "/children").c_str());
}

bool kernel_lists_children() {
    static const bool there = access(own_children_file().c_str(), R_OK) == 0;
    return there;
}

// Parses the start of /proc/PID/stat without an allocation, because a scan reads it for every process.
std::optional<ProcessFacts> read_facts(int proc, const char* pid) {
    std::array<char, 32> path;
    if (std::snprintf(path.data(), path.size(), "%s/stat", pid) >= static_cast<int>(path.size()))
        return std::nullopt;
    const Descriptor file(openat(proc, path.data(), O_RDONLY | O_CLOEXEC));
    std::array<char, 512> text;
    const ssize_t got = read(file.get(), text.data(), text.size());
    if (got <= 0) return std::nullopt;
    const std::string_view whole(text.data(), static_cast<std::size_t>(got));
    const std::size_t name_end = whole.rfind(") ");  // the name before it may contain anything
    if (name_end == std::string_view::npos || name_end + 4 > whole.size()) return std::nullopt;
    constexpr std::size_t start_time = 18;  // counted from 0 after the state
    std::array<std::int64_t, start_time + 1> numbers{};
    const char* at = whole.data() + name_end + 4;  // past the state, a letter
    for (std::int64_t& number : numbers)
        at = std::from_chars(at, whole.data() + whole.size(), number).ptr + 1;
    return ProcessFacts{static_cast<pid_t>(numbers[0]), static_cast<pid_t>(numbers[1]),
                        static_cast<pid_t>(numbers[2]), static_cast<std::uint64_t>(numbers[start_time])};
}

using ChildMap = std::unordered_multimap<pid_t, pid_t>;  // parent -> child

ChildMap scan() {
    ChildMap map;
    const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
    while (const dirent* entry = proc ? readdir(proc.get()) : nullptr) {
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
        if (const auto facts = read_facts(dirfd(proc.get()), entry->d_name))
            map.emplace(facts->parent, static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
    }
    return map;
}

void append_listed(const std::string& tasks, pid_t thread, std::vector<pid_t>& to) {
    parse_pids(text_of_file(tasks + "/" + std::to_string(thread) + "/children"), to);
}

std::vector<pid_t> children_in(const ChildMap& map, pid_t pid) {
    std::vector<pid_t> found;
    const auto [first, last] = map.equal_range(pid);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
    return found;
}

}  // namespace

OwnChildren::OwnChildren(From from) : buffer_(4096, '\0') {
    if (from == From::kernels_list) file_.reset(open(own_children_file().c_str(), O_RDONLY | O_CLOEXEC));
}

const std::vector<pid_t>& OwnChildren::list() {
    pids_.clear();
    if (!file_.valid()) return pids_ = children_in(scan(), getpid());
    // The kernel returns at most a page per read, and whole numbers only: about 580 of six digits. So a read
    // that is shorter than a page by more than one number is the last.
    constexpr std::size_t page = 4096;
    constexpr ssize_t full = page - 16;
    std::size_t length = 0;
    for (;;) {
        if (buffer_.size() - length < page) buffer_.resize(buffer_.size() * 2);
        const ssize_t got = pread(file_.get(), buffer_.data() + length, page, static_cast<off_t>(length));
        if (got > 0) length += static_cast<std::size_t>(got);
        if (got < full) break;
    }
    parse_pids(std::string_view(buffer_).substr(0, length), pids_);
    return pids_;
}

void ChildLists::append(pid_t pid, Forkers forkers, std::vector<pid_t>& to) {
    if (kernel_lists_children()) {
        const std::string tasks = proc_path(pid, "task");
        if (forkers == Forkers::only_thread) return append_listed(tasks, pid, to);
        for (const pid_t thread : numbers_in(tasks)) append_listed(tasks, thread, to);
        return;
    }
    if (!scanned_) scanned_ = scan();
    const std::vector<pid_t> found = children_in(*scanned_, pid);
    to.insert(to.end(), found.begin(), found.end());
}

std::vector<pid_t> descendants_of(pid_t pid) {
    ChildLists children;
    std::vector<pid_t> all;
    children.append(pid, ChildLists::Forkers::any_thread, all);
    for (std::size_t i = 0; i < all.size(); ++i)
        children.append(pid_t{all[i]}, ChildLists::Forkers::any_thread, all);
    return all;
}

std::optional<ProcessFacts> facts_of(pid_t pid) {
    const Descriptor proc(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return read_facts(proc.get(), std::to_string(pid).c_str());
}

std::optional<Duration> age_of(pid_t pid) {
    const auto facts = facts_of(pid);
    timespec now{};
    if (!facts || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return std::nullopt;
    const Duration since_boot = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    const Duration tick = std::chrono::nanoseconds(std::chrono::seconds(1)) / sysconf(_SC_CLK_TCK);
    const Duration began = tick * static_cast<std::int64_t>(facts->began);
    return std::max(since_boot - began, Duration{0});
}

std::optional<std::string> environment_of(pid_t pid, std::string_view name) {
    const std::string text = text_of_file(proc_path(pid, "environ"));
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = rest.find('\0');
        const std::string_view entry = rest.substr(0, end);
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
            return std::string(entry.substr(name.size() + 1));
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    return std::nullopt;
}

std::int64_t resident_kb(pid_t pid) {
    const std::string text = text_of_file(proc_path(pid, "statm"));
    const std::size_t blank = text.find(' ');
    if (blank == std::string::npos) return 0;
    return std::strtoll(text.c_str() + blank, nullptr, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

std::int64_t proportional_kb(pid_t pid) {
    const std::string text = text_of_file(proc_path(pid, "smaps_rollup"));
    const std::size_t at = text.find("\nPss:");
    return at == std::string::npos ? resident_kb(pid) : std::strtoll(text.c_str() + at + 5, nullptr, 10);
}

void signal_tree(pid_t pid, int signal) {
    const std::vector<pid_t> all_below = descendants_of(pid);
    ::kill(pid, signal);  // first: a shell whose command is killed goes on with its next one
    for (const pid_t below : all_below) ::kill(below, signal);
}

bool end_all_children(int limit_ms, const std::vector<pid_t>& spared) {
    // Does not wait for SIGCHLD, because the caller may block, handle or ignore it.
    const Instant until = instant_now() + std::chrono::milliseconds(limit_ms);
    for (;;) {
        while (waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
        }
        std::vector<pid_t> left;
        ChildLists{}.append(getpid(), ChildLists::Forkers::any_thread, left);
        std::erase_if(
            left, [&](pid_t pid) { return std::find(spared.begin(), spared.end(), pid) != spared.end(); });
        if (left.empty()) return true;
        for (const pid_t pid : left) signal_tree(pid, SIGKILL);
        const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(until - instant_now());
        if (rest.count() <= 0) return false;
        const Descriptor first = end_descriptor_of(left.front());
        pollfd ended{first.get(), POLLIN, 0};
        poll(&ended, first.valid() ? 1 : 0, first.valid() ? static_cast<int>(rest.count()) : 1);
    }
}

}  // namespace wq::node::process
