#include "runtask/waiting_text.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/units.h"

namespace wq::runtask {

namespace {

constexpr std::size_t most_ids_named = 8;

std::string first_blocked(const marked_list::Waiting& why) {
    return "line " + std::to_string(why.first_blocked) + " waits for line " + std::to_string(why.blocked_by) +
           (why.group.empty() ? "" : " (group " + line_for_message(why.group) + ")");
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

}  // namespace

std::string waiting_text(const marked_list::Waiting& why) {
    std::vector<std::string> parts;
    if (why.blocked != 0) parts.push_back(first_blocked(why));
    if (why.running != 0) parts.push_back(count_of(why.running, "line") + " running");
    if (why.tried != 0) parts.push_back(count_of(why.tried, "line") + " that failed here, for other workers");
    if (why.others != 0) parts.push_back(count_of(why.others, "line") + " for other workers (#@)");
    return parts.empty() ? "waiting for new lines" : "waiting: " + joined(parts);
}

std::string undone_text(const marked_list::Waiting& why, std::uint64_t failed) {
    std::vector<std::string> parts;
    if (failed != 0) parts.push_back(count_of(failed, "line") + " failed");
    if (why.blocked != 0)
        parts.push_back(count_of(why.blocked, "line") + " cannot run: " + first_blocked(why));
    return joined(parts);
}

std::string others_text(const marked_list::Document& list, marked_list::WorkerId worker) {
    std::uint64_t lines = 0;
    std::set<marked_list::WorkerId> ids;
    for (const std::uint64_t number : list.live_lines()) {
        const marked_list::MarkedLine& line = list.line(number);
        const bool others = line.kind == marked_list::LineKind::open && !line.workers.empty() &&
                            std::ranges::find(line.workers, worker) == line.workers.end();
        if (!others) continue;
        ++lines;
        ids.insert(line.workers.begin(), line.workers.end());
    }
    if (lines == 0) return {};
    std::string text = count_of(lines, "line") + (lines == 1 ? " is" : " are") + " for other workers:";
    std::size_t named = 0;
    for (const marked_list::WorkerId id : ids) {
        if (named++ == most_ids_named) return text + " ...";
        text += id == marked_list::no_worker ? " #@ (no number)" : " #@" + std::to_string(id);
    }
    return text;
}

}  // namespace wq::runtask
