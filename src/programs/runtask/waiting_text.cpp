#include "programs/runtask/waiting_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/units.h"

namespace wq::programs::runtask {

namespace {

constexpr std::size_t most_ids_named = 8;

std::string first_blocked(const shared_list::text::Waiting& why) {
    return "line " + std::to_string(why.first_blocked) + " waits for line " + std::to_string(why.blocked_by) +
           (why.group.empty() ? "" : " (group " + line_for_message(why.group) + ")");
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

bool is_for_others(const shared_list::text::MarkedLine& line, shared_list::text::WorkerId worker) {
    return line.kind == shared_list::text::LineKind::open && !line.workers.empty() &&
           std::ranges::find(line.workers, worker) == line.workers.end();
}

struct Others {
    std::uint64_t lines = 0;
    std::set<shared_list::text::WorkerId> ids;
};

Others others_of(const shared_list::text::Document& list, shared_list::text::WorkerId worker) {
    Others others;
    for (const std::uint64_t number : list.live_lines()) {
        const shared_list::text::MarkedLine& line = list.line(number);
        if (!is_for_others(line, worker)) continue;
        ++others.lines;
        others.ids.insert(line.workers.begin(), line.workers.end());
    }
    return others;
}

std::string named(const std::set<shared_list::text::WorkerId>& ids) {
    std::string text;
    std::size_t count = 0;
    for (const shared_list::text::WorkerId id : ids) {
        if (count++ == most_ids_named) return text + " ...";
        text += id == shared_list::text::no_worker ? " #@ (no number)" : " #@" + std::to_string(id);
    }
    return text;
}

bool may_run_elsewhere(const shared_list::text::MarkedLine& line, shared_list::text::WorkerId worker) {
    return is_for_others(line, worker) &&
           !std::ranges::all_of(line.workers, [&](shared_list::text::WorkerId id) {
               return shared_list::text::has_tried(line, id);
           });
}

// Blocked lines whose chain of waiting begins at a line that another worker may run.
std::set<std::uint64_t> waiting_for_others(const shared_list::text::Document& list,
                                           shared_list::text::WorkerId worker,
                                           const std::map<std::uint64_t, shared_list::text::Block>& blocks) {
    std::set<std::uint64_t> waiting;
    std::uint64_t first = 0;  // that is to be run: a bare `#:` waits for it
    for (const std::uint64_t number : list.live_lines()) {
        const shared_list::text::MarkedLine& line = list.line(number);
        if (line.kind == shared_list::text::LineKind::environment) continue;
        if (first == 0 && line.kind != shared_list::text::LineKind::barrier) first = number;
        const auto block = blocks.find(number);
        std::uint64_t by = block == blocks.end() ? 0 : block->second.by;
        if (by != 0 && list.line(by).kind == shared_list::text::LineKind::barrier) by = first;
        if (by == 0) continue;
        if (waiting.contains(by) || may_run_elsewhere(list.line(by), worker)) waiting.insert(number);
    }
    return waiting;
}

}  // namespace

shared_list::text::Waiting blocked_for_good(shared_list::text::Waiting why,
                                            const shared_list::text::Document& list,
                                            shared_list::text::WorkerId worker) {
    const auto blocks = shared_list::text::blocked_lines(list);
    const auto waiting = waiting_for_others(list, worker, blocks);
    why.blocked = why.first_blocked = 0;
    for (const auto& [number, block] : blocks) {
        const shared_list::text::MarkedLine& line = list.line(number);
        if (waiting.contains(number) || is_for_others(line, worker) ||
            shared_list::text::has_tried(line, worker))
            continue;
        ++why.blocked;
        if (why.first_blocked != 0) continue;
        why.first_blocked = number;
        why.blocked_by = block.by;
        why.group = block.group;
    }
    return why;
}

std::string waiting_text(const shared_list::text::Waiting& why, const shared_list::text::Document& list,
                         shared_list::text::WorkerId worker) {
    std::vector<std::string> parts;
    if (why.blocked != 0) parts.push_back(first_blocked(why));
    if (why.running != 0) parts.push_back(count_of(why.running, "line") + " running");
    if (why.tried != 0) parts.push_back(count_of(why.tried, "line") + " that failed here, for other workers");
    if (why.others != 0)
        parts.push_back(count_of(why.others, "line") +
                        " for other workers:" + named(others_of(list, worker).ids));
    return parts.empty() ? "waiting for new lines" : "waiting: " + joined(parts);
}

std::string undone_text(const shared_list::text::Waiting& why, std::uint64_t failed) {
    std::vector<std::string> parts;
    if (failed != 0) parts.push_back(count_of(failed, "line") + " failed");
    if (why.blocked != 0)
        parts.push_back(count_of(why.blocked, "line") + " cannot run: " + first_blocked(why));
    return joined(parts);
}

std::string others_text(const shared_list::text::Document& list, shared_list::text::WorkerId worker,
                        std::uint64_t blocked) {
    const Others others = others_of(list, worker);
    if (others.lines == 0) return {};
    return count_of(others.lines, "line") + (others.lines == 1 ? " is" : " are") +
           " for other workers:" + named(others.ids) +
           (blocked == 0
                ? ""
                : "; " + count_of(blocked, "line") + (blocked == 1 ? " waits" : " wait") + " for them");
}

}  // namespace wq::programs::runtask
