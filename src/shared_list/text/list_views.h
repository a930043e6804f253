// `runtask --status`: what is done, what runs where since when, what failed, and what waits for what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared_list/text/document.h"

namespace wq::shared_list::text {

struct ListCounts {
    std::uint64_t done = 0;
    std::uint64_t running = 0;
    std::uint64_t failed = 0;   // by some worker; others may try
    std::uint64_t waiting = 0;  // never begun, or lost
};
ListCounts count(const Document& list);

// A worker's sign of life, in words: "12 s ago", "lost since 20 min".
struct WorkerSign {
    WorkerId worker = 0;
    std::string text;
};

// At most `most` lines that wait are shown; those that run or failed are all.
std::string status_table(const Document& list, const std::string& name, const std::vector<WorkerSign>& signs,
                         std::uint64_t most);

// A graph that shows for each line of a list which lines it waits for: `#:g` waits for all lines of g above,
// `#+g` for the `#:g` above. A `#:` waits for all lines above, and all lines below wait for it.
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

// `runtask --check`: tags that are probably mistyped.

// One line each, in the order of the list: `#+g` without any `#:g`, and tags with a blank after the `#`.
std::vector<std::string> likely_typos(const Document& list);

}  // namespace wq::shared_list::text
