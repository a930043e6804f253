#include "node/machine/group_rights.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace wq::node::machine {

namespace {

constexpr const char* way_to_delegate =
    "start it with systemd-run --user --scope -p Delegate=yes (systemd 251 or newer)";

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

std::string text_of_file(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

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
        rights.why = "no cgroup v2 is mounted that holds this process";
        return rights;
    }
    const bool is_aside = std::filesystem::path(own->folder).filename() == group_of_processes;
    const std::string folder = is_aside ? parent_of(own->folder) : own->folder;
    if (!own->is_root && !is_aside && !is_marked(folder) && !is_handed_over(folder)) {
        rights.why = "cgroup " + own->name + " is not delegated to it: " + way_to_delegate;
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
