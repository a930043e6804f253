#include "node/usage/task_groups.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/read_write.h"
#include "base/units.h"

namespace wq::node::usage {

namespace {

constexpr std::string_view launcher_prefix = "work_queue.";  // followed by its pid namespace and pid
constexpr std::size_t most_ended = 200;                      // groups that could not be removed yet
constexpr std::size_t tried_at_once = 4;
// The kernel keeps removed groups while it caches what their tasks wrote. Each takes some hundred kB on a
// machine with 128 CPUs.
constexpr std::int64_t most_kept_by_kernel = 2000;
constexpr std::uint64_t made_between_looks = 64;
constexpr Duration end_of_the_killed = std::chrono::seconds(1);

bool write_text(int folder, const char* file, std::string_view text) {
    const Descriptor out(openat(folder, file, O_WRONLY | O_CLOEXEC));
    return out.valid() && write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool write_text(const std::string& file, std::string_view text) {
    return write_text(AT_FDCWD, file.c_str(), text);
}

// The number after `name` in lines "name number"; 0 if there is none.
std::int64_t count_in(const std::string& text, std::string_view name) {
    std::istringstream in(text);
    std::string other;
    for (std::int64_t value = 0; in >> other >> value;)
        if (other == name) return value;
    return 0;
}

// Only the root group may have both processes and controllers for its subgroups, so the processes are moved
// to a subgroup.
void move_processes_aside(const std::string& folder) {
    const std::string aside = folder + "/" + std::string(machine::group_of_processes);
    if (mkdir(aside.c_str(), 0755) != 0 && errno != EEXIST) return;
    std::istringstream pids(text_of_file(folder + "/cgroup.procs"));
    for (std::string pid; pids >> pid;) write_text(aside + "/cgroup.procs", pid);
}

bool enable_memory(const std::string& folder, bool may_move) {
    const std::string control = folder + "/cgroup.subtree_control";
    constexpr int tries = 3;  // a process may fork while it is moved
    for (int round = 0; round < tries; ++round) {
        if (machine::has_word(text_of_file(control), "memory") || write_text(control, "+memory")) return true;
        if (errno != EBUSY || !may_move) return false;
        move_processes_aside(folder);
    }
    return false;
}

// Needed because another namespace may have the same pid.
std::string of_our_namespace() {
    struct stat status {};
    stat("/proc/self/ns/pid", &status);
    return std::string(launcher_prefix) + std::to_string(status.st_ino) + ".";
}

std::string launcher_folder(const std::string& folder, pid_t launcher) {
    return folder + "/" + of_our_namespace() + std::to_string(launcher);
}

// False if a process lives in it.
bool remove_with_parts(const std::string& folder) {
    if (rmdir(folder.c_str()) == 0 || errno == ENOENT) return true;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (entry.is_directory(error)) remove_with_parts(entry.path());
    return rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

// Removes groups of launchers that were killed together with their zygote.
void remove_abandoned(const std::string& folder) {
    const std::string ours = of_our_namespace();
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(ours)) continue;
        pid_t launcher = 0;
        const char* const end = name.data() + name.size();
        if (std::from_chars(name.data() + ours.size(), end, launcher).ptr != end || launcher <= 0) continue;
        if (kill(launcher, 0) != 0 && errno == ESRCH) remove_with_parts(entry.path());
    }
}

}  // namespace

TaskGroup::TaskGroup(std::string path, bool memory) : path_(std::move(path)), has_memory_(memory) {
    if (mkdir(path_.c_str(), 0755) == 0)
        folder_.reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool TaskGroup::join() const {
    return write_to("cgroup.procs", "0");
}

bool TaskGroup::take(pid_t pid) const {
    return write_to("cgroup.procs", std::to_string(pid));
}

bool TaskGroup::limit_memory(std::int64_t limit_mb) {
    if (!has_memory_ || !write_to("memory.oom.group", "1")) return false;
    write_to("memory.swap.max", "0");  // missing if the kernel does not account for swap
    if (write_to("memory.max", std::to_string(limit_mb * bytes_per_mb))) limit_mb_ = limit_mb;
    return limit_mb_ > 0;
}

TaskGroup::Killed TaskGroup::killed_for_memory() const {
    const std::string text = has_memory_ ? text_of("memory.events") : "";
    if (count_in(text, "oom_kill") == 0) return Killed::not_at_all;
    // `oom` also counts for limits in subgroups. The .local file (Linux 5.2 or newer) counts this group's
    // limit only.
    const std::string local = text_of("memory.events.local");
    const bool met = count_in(local.empty() ? text : local, "oom") > 0;
    return limit_mb_ > 0 && met ? Killed::at_its_limit : Killed::elsewhere;
}

std::optional<std::int64_t> TaskGroup::cpu_us() const {
    const std::int64_t usage = count_in(text_of("cpu.stat"), "usage_usec");
    if (usage == 0) return std::nullopt;
    return usage;
}

std::optional<TaskGroup::Memory> TaskGroup::memory() {
    const std::string text = has_memory_ ? text_of("memory.stat") : "";
    if (text.empty()) return std::nullopt;
    Memory memory;
    for (const char* part : {"anon", "shmem", "kernel_stack", "pagetables", "slab_unreclaimable", "sock"})
        memory.kb += count_in(text, part) / 1024;
    std::int64_t swapped = 0;
    const std::string swap = text_of("memory.swap.current");
    std::from_chars(swap.data(), swap.data() + swap.size(), swapped);
    memory.swapped_kb = swapped / 1024;
    inhabited_ = inhabited_ || memory.kb > 0;
    if (!inhabited_) return std::nullopt;
    return memory;
}

void TaskGroup::kill() const {
    write_to("cgroup.kill", "1");  // Linux 5.14; older kernels: processes are killed one by one
}

bool TaskGroup::remove() const {
    return remove_with_parts(path_);
}

void TaskGroup::wait_until_empty(Instant until) const {
    const Descriptor events(open((path_ + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
    while (events.valid()) {
        std::array<char, 256> text;
        // The kernel reports a change only after the old value was read.
        const ssize_t got = pread(events.get(), text.data(), text.size(), 0);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - instant_now());
        if (got <= 0 || left.count() <= 0) return;
        if (count_in({text.data(), static_cast<std::size_t>(got)}, "populated") == 0) return;
        pollfd changed{events.get(), POLLPRI, 0};
        poll(&changed, 1, static_cast<int>(left.count()));
    }
}

std::string TaskGroup::text_of(const char* file) const {
    const Descriptor in(openat(folder_.get(), file, O_RDONLY | O_CLOEXEC));
    std::array<char, 4096> buffer;
    const ssize_t got = in.valid() ? read(in.get(), buffer.data(), buffer.size()) : 0;
    return {buffer.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
}

bool TaskGroup::write_to(const char* file, std::string_view text) const {
    return write_text(folder_.get(), file, text);
}

TaskGroups::~TaskGroups() {
    const Instant until = instant_now() + end_of_the_killed;
    for (const auto& group : ended_) group->wait_until_empty(until);
    if (!folder_.empty()) remove_with_parts(folder_);
}

bool TaskGroups::begin() {
    const machine::GroupRights rights = machine::group_rights(roots_);
    if (rights.folder.empty()) return false;
    remove_abandoned(rights.folder);
    const std::string folder = launcher_folder(rights.folder, getpid());
    remove_with_parts(folder);  // left by a launcher with our pid
    if (mkdir(folder.c_str(), 0755) != 0) return false;
    constexpr bool may_move = false;  // it has no processes
    memory_ =
        rights.memory && enable_memory(rights.folder, rights.may_move) && enable_memory(folder, may_move);
    folder_ = folder;
    return true;
}

std::unique_ptr<TaskGroup> TaskGroups::make(std::uint64_t serial) {
    if (!std::exchange(begun_, true) && !begin()) return nullptr;
    if (folder_.empty() || stopped_ || !has_room()) return nullptr;
    auto group = std::make_unique<TaskGroup>(folder_ + "/task." + std::to_string(serial), memory_);
    return group->valid() ? std::move(group) : nullptr;
}

bool TaskGroups::has_room() {
    remove_ended();
    if (memory_ && made_++ % made_between_looks == 0)
        kernel_keeps_too_many_ =
            count_in(text_of_file(folder_ + "/cgroup.stat"), "nr_dying_descendants") > most_kept_by_kernel;
    return !kernel_keeps_too_many_ && ended_.size() < most_ended;
}

void TaskGroups::give_up(std::unique_ptr<TaskGroup> group) {
    if (!group->remove()) {
        group->kill();
        group->stop_asking();
        ended_.push_back(std::move(group));
    }
    remove_ended();
}

// Killed processes stay in a group for a moment, or for long if they wait for a disk.
void TaskGroups::remove_ended() {
    for (std::size_t tried = 0; tried < tried_at_once && !ended_.empty(); ++tried) {
        auto group = std::move(ended_.front());
        ended_.pop_front();
        if (!group->remove()) ended_.push_back(std::move(group));
    }
}

void remove_task_groups_of(pid_t launcher, const machine::ControlGroupRoots& roots) {
    const machine::GroupRights rights = machine::group_rights(roots);
    if (!rights.folder.empty()) remove_with_parts(launcher_folder(rights.folder, launcher));
}

}  // namespace wq::node::usage
