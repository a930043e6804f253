// Where this process may create control groups.
//
// We may divide the root of the visible hierarchy, or a group that was delegated to us (systemd marks those
// with an extended attribute; otherwise a group that we own in a folder that we do not own).
#pragma once

#include <string>
#include <string_view>

#include "node/machine/control_group.h"

namespace wq::node::machine {

// Subgroup of a divided group for the processes that were in it before.
inline constexpr std::string_view group_of_processes = "work_queue_own";

// Where this process may create groups, and what limits it.
struct GroupRights {
    std::string folder;     // the group that we divide; empty: no groups
    bool memory = false;    // the memory controller is available there
    bool may_move = false;  // moves the group's processes into a subgroup, if the controller requires it
    std::string why;        // why there is no group or no memory controller, with the remedy
};
GroupRights group_rights(const ControlGroupRoots& roots = {});

// "by the kernel where possible, in cgroup v2 below /a", or the alternative and its reason.
std::string how_memory_is_held(const GroupRights& rights);

// Reads the kernel's files: the content (empty if unreadable), and whether it contains a word.
std::string text_of_file(const std::string& file);
bool has_word(const std::string& text, std::string_view word);

}  // namespace wq::node::machine
