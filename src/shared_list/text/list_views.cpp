#include "shared_list/text/list_views.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "engine/tasklist/shell_scan.h"
#include "shared_list/text/choice.h"

namespace wq::shared_list::text {

namespace {

using Cells = std::vector<std::string>;

// Columns as wide as their widest cell; the last one is not padded.
std::string table(const std::vector<Cells>& rows) {
    std::vector<std::size_t> widths;
    for (const Cells& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t at = 0; at < row.size(); ++at) widths[at] = std::max(widths[at], row[at].size());
    }
    std::string text;
    for (const Cells& row : rows) {
        for (std::size_t at = 0; at < row.size(); ++at) {
            text += row[at];
            if (at + 1 < row.size()) text.append(widths[at] - row[at].size() + 2, ' ');
        }
        text += '\n';
    }
    return text;
}

bool has_failed(const MarkedLine& line) {
    return std::ranges::any_of(line.tries,
                               [](const LineTry& attempt) { return attempt.end == TryEnd::error; });
}

std::string workers_of(const MarkedLine& line) {
    std::string text;
    for (const WorkerId id : line.workers)
        text += (text.empty() ? "worker " : " or ") + (id == no_worker ? "?" : std::to_string(id));
    return text;
}

// What an open line waits for.
std::string wait_of(std::uint64_t number, const MarkedLine& line,
                    const std::map<std::uint64_t, BlockedBy>& blocks) {
    if (const auto block = blocks.find(number); block != blocks.end()) {
        const std::string by = "line " + std::to_string(block->second.by);
        return block->second.group.empty() ? by + " (barrier)" : by + " (group " + block->second.group + ")";
    }
    return line.workers.empty() ? "a worker" : workers_of(line);
}

Cells row_of(std::uint64_t number, const MarkedLine& line, const std::map<std::uint64_t, BlockedBy>& blocks) {
    const std::string at = std::to_string(number);
    if (line.kind == LineKind::running) {
        const LineTry& attempt = line.tries.back();
        return {at, "running", "on worker " + std::to_string(attempt.worker) + " since " + attempt.begun,
                line.command};
    }
    if (has_failed(line)) {
        std::string tried;
        for (const LineTry& attempt : line.tries)
            tried += (tried.empty() ? "" : ", ") + std::string("worker ") + std::to_string(attempt.worker) +
                     (attempt.end == TryEnd::error ? " (exit " + std::to_string(attempt.exit_code) + ")"
                                                   : " (lost)");
        return {at, "failed", "on " + tried, line.command};
    }
    return {at, "waiting", "for " + wait_of(number, line, blocks), line.command};
}

std::string workers_table(const Document& list, const std::vector<WorkerSign>& signs) {
    std::map<WorkerId, std::uint64_t> running;
    for (const std::uint64_t number : list.live_lines()) {
        const MarkedLine& line = list.line(number);
        if (line.kind == LineKind::running) ++running[line.tries.back().worker];
    }
    std::map<WorkerId, std::string> names;
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        if (list.line(number).kind != LineKind::text) continue;
        if (const auto worker = worker_of(list.line(number).text)) names[worker->worker] = worker->name;
    }
    std::vector<Cells> rows{{"WORKER", "NAME", "RUNNING", "LAST SIGN"}};
    for (const WorkerSign& sign : signs)
        rows.push_back({std::to_string(sign.worker), names[sign.worker], std::to_string(running[sign.worker]),
                        sign.text});
    return rows.size() > 1 ? table(rows) : std::string();
}

}  // namespace

ListCounts count(const Document& list) {
    ListCounts counts;
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const MarkedLine& line = list.line(number);
        if (line.kind == LineKind::done) ++counts.done;
        if (line.kind == LineKind::running) ++counts.running;
        if (line.kind == LineKind::open) ++(has_failed(line) ? counts.failed : counts.waiting);
    }
    return counts;
}

std::string status_table(const Document& list, const std::string& name, const std::vector<WorkerSign>& signs,
                         std::uint64_t most) {
    const ListCounts counts = count(list);
    std::string text = name + ": " + std::to_string(counts.done) + " done, " +
                       std::to_string(counts.running) + " running, " + std::to_string(counts.failed) +
                       " failed, " + std::to_string(counts.waiting) + " waiting\n";
    const std::map<std::uint64_t, BlockedBy> blocks = blocked_lines(list);
    std::vector<Cells> rows{{"LINE", "STATE", "WHERE OR WHY", "COMMAND"}};
    std::uint64_t waiting = 0;
    for (const std::uint64_t number : list.live_lines()) {
        const MarkedLine& line = list.line(number);
        if (line.kind != LineKind::running && line.kind != LineKind::open) continue;
        const bool waits = line.kind == LineKind::open && !has_failed(line);
        if (waits && ++waiting > most) continue;
        rows.push_back(row_of(number, line, blocks));
    }
    if (rows.size() > 1) text += table(rows);
    if (waiting > most) text += "... and " + std::to_string(waiting - most) + " more lines that wait\n";
    return text + workers_table(list, signs);
}

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

namespace {

bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

bool is_name_byte(char byte) {
    return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

// How much of a comment's text reads like a tag: "!", "@3", ":name", "+name"; 0: it is none.
std::size_t tag_size(std::string_view text) {
    if (text.empty()) return 0;
    std::size_t size = 1;
    const bool is_group = text.front() == ':' || text.front() == '+';
    const bool is_worker = text.front() == '@';
    if (!is_group && !is_worker && text.front() != '!') return 0;
    while (size < text.size() && (is_group ? is_name_byte(text[size]) : is_worker && is_digit(text[size])))
        ++size;
    if ((is_group || is_worker) && size == 1) return 0;
    const bool ends =
        size == text.size() || std::string_view(" \t\r#").find(text[size]) != std::string_view::npos;
    return ends ? size : 0;
}

// A `#` with blanks and a tag behind it; "": there is none.
std::string spaced_tag(std::string_view comment) {
    for (std::size_t at = comment.find('#'); at != std::string_view::npos; at = comment.find('#', at + 1)) {
        const std::size_t text = comment.find_first_not_of(" \t", at + 1);
        if (text == std::string_view::npos || text == at + 1) continue;
        if (const std::size_t size = tag_size(comment.substr(text)); size != 0)
            return std::string(comment.substr(text, size));
    }
    return {};
}

std::set<std::string> sequential_groups(const Document& list) {
    std::set<std::string> names;
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        for (const auto& group : list.line(number).groups)
            if (group.sequential) names.insert(group.name);
    }
    return names;
}

}  // namespace

std::vector<std::string> likely_typos(const Document& list) {
    std::vector<std::string> typos;
    std::set<std::string> named = sequential_groups(list);
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const MarkedLine& line = list.line(number);
        if (line.kind == LineKind::text) continue;
        const std::string at = "line " + std::to_string(number) + ": ";
        for (const auto& group : line.groups) {
            if (!named.insert(group.name).second) continue;  // told once a group
            typos.push_back(at + "#+" + group.name + " waits for nothing, since no line has #:" + group.name);
        }
        const std::size_t comment = engine::tasklist::scan_shell(line.command).remark;
        if (comment == std::string_view::npos) continue;
        if (const std::string tag = spaced_tag(std::string_view(line.command).substr(comment)); !tag.empty())
            typos.push_back(at + "'# " + tag + "' is a comment; the tag is '#" + tag + "', without a blank");
    }
    return typos;
}

}  // namespace wq::shared_list::text
