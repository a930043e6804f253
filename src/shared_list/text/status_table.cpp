#include "shared_list/text/status_table.h"

#include <algorithm>
#include <map>

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
    return std::ranges::any_of(line.tries, [](const Try& attempt) { return attempt.end == TryEnd::error; });
}

std::string workers_of(const MarkedLine& line) {
    std::string text;
    for (const WorkerId id : line.workers)
        text += (text.empty() ? "worker " : " or ") + (id == no_worker ? "?" : std::to_string(id));
    return text;
}

// What an open line waits for.
std::string wait_of(std::uint64_t number, const MarkedLine& line,
                    const std::map<std::uint64_t, Block>& blocks) {
    if (const auto block = blocks.find(number); block != blocks.end()) {
        const std::string by = "line " + std::to_string(block->second.by);
        return block->second.group.empty() ? by + " (barrier)" : by + " (group " + block->second.group + ")";
    }
    return line.workers.empty() ? "a worker" : workers_of(line);
}

Cells row_of(std::uint64_t number, const MarkedLine& line, const std::map<std::uint64_t, Block>& blocks) {
    const std::string at = std::to_string(number);
    if (line.kind == LineKind::running) {
        const Try& attempt = line.tries.back();
        return {at, "running", "on worker " + std::to_string(attempt.worker) + " since " + attempt.begun,
                line.command};
    }
    if (has_failed(line)) {
        std::string tried;
        for (const Try& attempt : line.tries)
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
    const std::map<std::uint64_t, Block> blocks = blocked_lines(list);
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

}  // namespace wq::shared_list::text
