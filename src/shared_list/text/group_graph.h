// A graph that shows for each line of a list which lines it waits for: `#:g` waits for all lines of g above,
// `#+g` for the `#:g` above. A `#:` waits for all lines above, and all lines below wait for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared_list/text/document.h"

namespace wq::shared_list::text {

struct GroupNode {
    std::uint64_t first = 0;  // lines with the same tags that stand together
    std::uint64_t last = 0;
    std::uint64_t tasks = 0;         // of these; 0: a bare `#:`
    std::string label;               // command of the first
    std::vector<std::string> tags;   // "#:g", "#+h"
    std::vector<std::size_t> after;  // nodes that it waits for, without those that follow from others
    bool done = false;
};

// Only lines in groups, and what barriers wait for.
std::vector<GroupNode> group_graph(const Document& list);

std::string graph_dot(const std::vector<GroupNode>& graph, const std::string& name);
// One line a node, with what it waits for.
std::string graph_text(const std::vector<GroupNode>& graph);

}  // namespace wq::shared_list::text
