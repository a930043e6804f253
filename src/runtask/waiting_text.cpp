#include "runtask/waiting_text.h"

#include <vector>

#include "base/units.h"

namespace wq::runtask {

namespace {

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

}  // namespace wq::runtask
