#include "shared_list/text/group_graph.h"

#include <algorithm>
#include <map>
#include <set>

namespace wq::shared_list::text {

namespace {

constexpr std::size_t longest_label = 40;

std::vector<std::string> tags_of(const MarkedLine& line) {
    std::vector<std::string> tags;
    for (const auto& group : line.groups) tags.push_back((group.sequential ? "#:" : "#+") + group.name);
    return tags;
}

// What a later line of the group waits for.
struct Front {
    std::set<std::size_t> sequential;  // the last `#:g`
    std::set<std::size_t> parallel;    // `#+g` since
};

class GraphMaker {
  public:
    void add(std::uint64_t number, const MarkedLine& line) {
        const std::vector<std::string> tags = tags_of(line);
        if (may_join(number, line, tags)) {
            nodes_.back().last = number;
            ++nodes_.back().tasks;
            nodes_.back().done &= line.kind == LineKind::done;
            return;
        }
        const bool barrier = line.kind == LineKind::barrier;
        nodes_.push_back({number,
                          number,
                          barrier ? 0U : 1U,
                          barrier ? "#:" : line.command,
                          tags,
                          {},
                          line.kind == LineKind::done});
        connect(line, nodes_.size() - 1);
    }
    std::vector<GroupNode> take() {
        remove_unused();
        return std::move(nodes_);
    }

  private:
    // Lines that do not wait for each other, and for the same ones.
    bool may_join(std::uint64_t number, const MarkedLine& line, const std::vector<std::string>& tags) const {
        const bool sequential =
            std::ranges::any_of(line.groups, &engine::tasklist::GroupMembership::sequential);
        return !nodes_.empty() && !sequential && nodes_.back().last + 1 == number &&
               nodes_.back().tags == tags && nodes_.back().tasks != 0;
    }
    void connect(const MarkedLine& line, std::size_t node) {
        std::set<std::size_t> after = barrier_;
        bool is_barrier = false;
        for (const auto& [name, sequential] : line.groups) {
            if (name.empty()) {
                is_barrier = true;
                after.insert(since_barrier_.begin(), since_barrier_.end());
                continue;
            }
            Front& front = fronts_[name];
            after.insert(front.sequential.begin(), front.sequential.end());
            if (sequential) {
                after.insert(front.parallel.begin(), front.parallel.end());
                front = {{node}, {}};
            } else {
                front.parallel.insert(node);
            }
        }
        nodes_[node].after = {after.begin(), after.end()};
        since_barrier_.insert(node);
        if (!is_barrier) return;
        barrier_ = {node};
        since_barrier_.clear();
        fronts_.clear();
    }
    // What waits for nothing, and for which nothing waits.
    void remove_unused() {
        std::set<std::size_t> used;
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            if (nodes_[node].after.empty() && nodes_[node].tags.empty()) continue;
            used.insert(node);
            used.insert(nodes_[node].after.begin(), nodes_[node].after.end());
        }
        std::map<std::size_t, std::size_t> numbers;
        std::vector<GroupNode> kept;
        for (const std::size_t node : used) {
            numbers[node] = kept.size();
            kept.push_back(std::move(nodes_[node]));
            for (std::size_t& after : kept.back().after) after = numbers.at(after);
        }
        nodes_ = std::move(kept);
    }

    std::vector<GroupNode> nodes_;
    std::map<std::string, Front> fronts_;
    std::set<std::size_t> barrier_;
    std::set<std::size_t> since_barrier_;
};

// Cut between characters of UTF-8.
std::string shortened(std::string text) {
    if (text.size() <= longest_label) return text;
    std::size_t size = longest_label;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
    return text.substr(0, size) + "...";
}

std::string lines_of(const GroupNode& node) {
    return std::to_string(node.first) + (node.last > node.first ? "-" + std::to_string(node.last) : "");
}

std::string quoted_for_dot(const std::string& text) {
    std::string quoted;
    for (const char byte : text) {
        if (byte == '"' || byte == '\\') quoted += '\\';
        quoted += byte;
    }
    return '"' + quoted + '"';
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

}  // namespace

std::vector<GroupNode> group_graph(const Document& list) {
    GraphMaker maker;
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const MarkedLine& line = list.line(number);
        if (line.kind != LineKind::text && line.kind != LineKind::environment) maker.add(number, line);
    }
    return maker.take();
}

std::string graph_dot(const std::vector<GroupNode>& graph, const std::string& name) {
    std::string text = "digraph " + quoted_for_dot(name) + " {\n  rankdir=LR;\n  node [shape=box];\n";
    for (std::size_t node = 0; node < graph.size(); ++node) {
        const GroupNode& one = graph[node];
        std::string label = lines_of(one) + ": " + shortened(one.label);
        if (one.tasks > 1) label += " (" + std::to_string(one.tasks) + " tasks)";
        text += "  n" + std::to_string(node) + " [label=" + quoted_for_dot(label) +
                (one.done ? ", style=filled" : "") + "];\n";
    }
    for (std::size_t node = 0; node < graph.size(); ++node) {
        for (const std::size_t after : graph[node].after)
            text += "  n" + std::to_string(after) + " -> n" + std::to_string(node) + ";\n";
    }
    return text + "}\n";
}

std::string graph_text(const std::vector<GroupNode>& graph) {
    std::string text;
    for (const GroupNode& node : graph) {
        text += "line " + lines_of(node) + "  " + (node.tags.empty() ? "-" : joined(node.tags)) + "  " +
                shortened(node.label) +
                (node.tasks > 1 ? " (and " + std::to_string(node.tasks - 1) + " more)" : "") +
                (node.done ? "  (done)" : "") + "\n";
        std::vector<std::string> after;
        for (const std::size_t other : node.after) after.push_back(lines_of(graph[other]));
        if (!after.empty()) text += "    after " + joined(after) + "\n";
    }
    return text;
}

}  // namespace wq::shared_list::text
