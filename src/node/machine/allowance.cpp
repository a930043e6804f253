#include "node/machine/allowance.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/read_write.h"
#include "node/machine/cpu_mask.h"

namespace wq::node::machine {

namespace {

template <class Amount>
bool is_less(const std::optional<Amount>& now, const std::optional<Amount>& before) {
    return now && (!before || *now < *before);
}

std::string of_cores(double cores) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.4g cores", cores);
    return text.data();
}

std::string of_memory(std::int64_t mb) {
    return std::to_string(mb) + " MB";
}

template <class Amount, class Text>
std::string lessened(const char* what, const std::optional<Amount>& before, const std::optional<Amount>& now,
                     Text&& text) {
    return std::string(what) + " is limited to " + text(*now) + " now, " +
           (before ? "to " + text(*before) : std::string("not")) + " before";
}

}  // namespace

Allowance Allowance::of_this_process(const ControlGroupRoots& roots) {
    Allowance found;
    found.threads = CpuMask::of_process(0).count();
    found.cpu_quota = machine::cpu_quota(roots);
    if (const auto bytes = memory_limit(roots)) found.memory_mb = *bytes >> 20;
    return found;
}

std::string what_is_less(const Allowance& before, const Allowance& now) {
    if (now.threads > 0 && now.threads < before.threads)
        return "the worker may use " + std::to_string(now.threads) + " hardware threads now, " +
               std::to_string(before.threads) + " before";
    if (is_less(now.memory_mb, before.memory_mb))
        return lessened("the worker's memory", before.memory_mb, now.memory_mb, of_memory);
    if (is_less(now.cpu_quota, before.cpu_quota))
        return lessened("the worker's CPU time", before.cpu_quota, now.cpu_quota, of_cores);
    return {};
}

namespace {

struct Folder {
    std::string path;
    std::string group;  // "/a/b"
};

// The folders of our group from itself up to the root, for a controller of version 1 ("memory") or, with an
// empty name, of version 2. A container may show its group as the root of the mount: missing folders are
// skipped.
std::vector<Folder> folders(const ControlGroupRoots& roots, std::string_view controller) {
    std::vector<Folder> found;
    std::ifstream in(roots.membership);
    for (std::string line; std::getline(in, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
        if (controller.empty() ? names != ",,"
                               : names.find("," + std::string(controller) + ",") == std::string::npos)
            continue;
        std::string base = roots.mount;
        if (!controller.empty()) {
            base += "/" + std::string(controller);
        } else if (access((base + "/unified").c_str(), R_OK) == 0) {
            base += "/unified";
        }
        std::string path = line.substr(second + 1);
        while (path.size() > 1) {
            found.push_back({base + path, path});
            path.resize(path.rfind('/'));
        }
        found.push_back({base, "/"});
    }
    return found;
}

std::optional<std::int64_t> number_in(const std::string& file) {
    std::ifstream in(file);
    std::int64_t value = 0;
    if (!(in >> value)) return std::nullopt;  // also if it is "max"
    return value;
}

// Of the line "NAME number".
std::optional<std::int64_t> number_of(const std::string& file, std::string_view name) {
    std::ifstream in(file);
    std::string word;
    for (std::int64_t value = 0; in >> word >> value;)
        if (word == name) return value;
    return std::nullopt;
}

void lower(std::optional<GroupLimit>& least, std::optional<double> amount, const std::string& source) {
    if (amount && (!least || *amount < least->amount)) least = GroupLimit{*amount, source};
}

std::optional<double> as_double(std::optional<std::int64_t> value) {
    if (!value) return std::nullopt;
    return static_cast<double>(*value);
}

std::string quota_text(const char* version, double cores, const std::string& group) {
    std::array<char, 32> number;
    std::snprintf(number.data(), number.size(), "%.4g", cores);
    return std::string("cgroup ") + version + " cpu quota " + number.data() + " " + group;
}

}  // namespace

std::optional<GroupLimit> memory_limit_of_group(const ControlGroupRoots& roots) {
    constexpr double unlimited = 1LL << 60;  // version 1 expresses "no limit" as a huge number
    std::optional<GroupLimit> least;
    for (const Folder& folder : folders(roots, ""))
        lower(least, as_double(number_in(folder.path + "/memory.max")),
              "cgroup v2 memory.max " + folder.group);
    for (const Folder& folder : folders(roots, "memory"))
        lower(least, as_double(number_in(folder.path + "/memory.limit_in_bytes")),
              "cgroup v1 memory.limit_in_bytes " + folder.group);
    if (least && least->amount >= unlimited) least.reset();
    return least;
}

std::optional<std::int64_t> memory_limit(const ControlGroupRoots& roots) {
    const auto least = memory_limit_of_group(roots);
    if (!least) return std::nullopt;
    return static_cast<std::int64_t>(least->amount);
}

std::optional<std::int64_t> memory_left(const ControlGroupRoots& roots) {
    constexpr std::int64_t unlimited = std::int64_t{1} << 60;
    std::optional<std::int64_t> least;
    const auto lower_to = [&](const std::string& folder, const char* most, const char* used,
                              const char* cached) {
        const auto limit = number_in(folder + most);
        const auto now = number_in(folder + used);
        if (!limit || *limit >= unlimited || !now) return;
        const std::int64_t left = *limit - *now + number_of(folder + "/memory.stat", cached).value_or(0);
        least = std::min(least.value_or(left), left);
    };
    for (const Folder& folder : folders(roots, ""))
        lower_to(folder.path, "/memory.max", "/memory.current", "inactive_file");
    for (const Folder& folder : folders(roots, "memory"))
        lower_to(folder.path, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file");
    return least;
}

std::optional<GroupLimit> cpu_quota_of_group(const ControlGroupRoots& roots) {
    std::optional<GroupLimit> least;
    for (const Folder& folder : folders(roots, "")) {
        std::ifstream in(folder.path + "/cpu.max");
        double quota = 0;
        double period = 0;
        if (in >> quota >> period && quota > 0 && period > 0)
            lower(least, quota / period, quota_text("v2", quota / period, folder.group));
    }
    for (const Folder& folder : folders(roots, "cpu")) {
        const auto quota = as_double(number_in(folder.path + "/cpu.cfs_quota_us"));
        const auto period = as_double(number_in(folder.path + "/cpu.cfs_period_us"));
        if (quota && period && *quota > 0 && *period > 0)
            lower(least, *quota / *period, quota_text("v1", *quota / *period, folder.group));
    }
    return least;
}

std::optional<double> cpu_quota(const ControlGroupRoots& roots) {
    const auto least = cpu_quota_of_group(roots);
    if (!least) return std::nullopt;
    return least->amount;
}

std::string cpuset_group(const ControlGroupRoots& roots) {
    if (const auto own = folders(roots, "cpuset"); !own.empty()) return "cgroup v1 cpuset " + own[0].group;
    if (const auto own = folders(roots, ""); !own.empty()) return "cgroup v2 cpuset " + own[0].group;
    return "cgroup cpuset";
}

std::optional<OwnGroup> own_group(const ControlGroupRoots& roots) {
    const auto own = folders(roots, "");
    if (own.empty() || access((own[0].path + "/cgroup.procs").c_str(), F_OK) != 0) return std::nullopt;
    return OwnGroup{own[0].path, own[0].group, own[0].group == "/"};
}

std::vector<std::string> oom_event_files(const ControlGroupRoots& roots) {
    std::vector<std::string> files;
    for (const Folder& folder : folders(roots, "")) {
        const std::string file = folder.path + "/memory.events";
        if (access(file.c_str(), R_OK) == 0 && files.empty()) files.push_back(file);
    }
    for (const Folder& folder : folders(roots, "memory")) {
        const std::string file = folder.path + "/memory.oom_control";
        if (access(file.c_str(), R_OK) == 0 && files.empty()) files.push_back(file);
    }
    if (files.empty()) files.push_back("/proc/vmstat");
    return files;
}

namespace {

constexpr const char* way_to_delegate =
    "start the program with systemd-run --user --scope -p Delegate=yes (systemd 251 or newer)";

bool is_marked(const std::string& folder) {
    for (const char* name : {"user.delegate", "trusted.delegate"}) {
        char value = 0;
        if (getxattr(folder.c_str(), name, &value, 1) == 1 && value == '1') return true;
    }
    return false;
}

// This folder was delegated to us, the one above was not.
bool is_handed_over(const std::string& folder) {
    struct stat own {};
    struct stat above {};
    return geteuid() != 0 && stat(folder.c_str(), &own) == 0 && own.st_uid == geteuid() &&
           stat((folder + "/..").c_str(), &above) == 0 && above.st_uid != geteuid();
}

std::string parent_of(const std::string& path) {
    return std::filesystem::path(path).parent_path();
}

bool may_write(const std::string& folder) {
    return access(folder.c_str(), W_OK) == 0 && access((folder + "/cgroup.procs").c_str(), W_OK) == 0;
}

// The root, which has no type, or a group whose subgroups have the controller already.
bool may_have_processes_and_parts(const std::string& folder) {
    return access((folder + "/cgroup.type").c_str(), F_OK) != 0 ||
           has_word(text_of_file(folder + "/cgroup.subtree_control"), "memory");
}

}  // namespace

bool has_word(const std::string& text, std::string_view word) {
    std::istringstream in(text);
    for (std::string other; in >> other;)
        if (other == word) return true;
    return false;
}

GroupRights group_rights(const ControlGroupRoots& roots) {
    GroupRights rights;
    if (const char* const word = getenv("WORK_QUEUE_CGROUP");
        word != nullptr && word == std::string_view("no")) {
        rights.why = "WORK_QUEUE_CGROUP=no";
        return rights;
    }
    const auto own = own_group(roots);
    if (!own) {
        rights.why = "no mounted cgroup v2 holds this process";
        return rights;
    }
    const bool is_aside = std::filesystem::path(own->folder).filename() == group_of_processes;
    const std::string folder = is_aside ? parent_of(own->folder) : own->folder;
    if (!own->is_root && !is_aside && !is_marked(folder) && !is_handed_over(folder)) {
        rights.why = "cgroup " + own->name + " is not delegated to this process: " + way_to_delegate;
        return rights;
    }
    if (!has_word(text_of_file(own->folder + "/cgroup.procs"), std::to_string(getpid()))) {
        rights.why = "the cgroups at " + own->folder + " are not those of this process";
        return rights;
    }
    if (!may_write(folder)) {
        rights.why = "cgroup " + own->name + " may not be written";
        return rights;
    }
    rights.folder = folder;
    rights.may_move = !own->is_root;
    if (!has_word(text_of_file(folder + "/cgroup.controllers"), "memory"))
        rights.why = "cgroup " + own->name + " has no memory controller";
    else if (!rights.may_move && !may_have_processes_and_parts(folder))
        rights.why = "cgroup " + own->name + " has processes in it that may not be moved";
    rights.memory = rights.why.empty();
    return rights;
}

std::string how_memory_is_held(const GroupRights& rights) {
    if (rights.memory) return "by the kernel where possible, in cgroup v2 below " + rights.folder;
    return "by checking ten times a second: " + rights.why;
}

}  // namespace wq::node::machine
