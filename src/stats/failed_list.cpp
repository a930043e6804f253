#include "stats/failed_list.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <vector>

#include "stats/append_file.h"
#include "stats/task_number.h"

namespace wq::stats {

void FailedList::task(const TaskRecord& record, std::string_view lines) {
    if (!record.final) return;
    if (record.outcome.succeeded()) {
        failed_.erase(record.key.value);
    } else {
        failed_[record.key.value] = {record.line, record.task, core::describe(record.outcome),
                                     std::string(lines)};
    }
}

std::string FailedList::text(std::string_view list_name) const {
    std::vector<const Failed*> in_order;
    in_order.reserve(failed_.size());
    for (const auto& [key, failed] : failed_) in_order.push_back(&failed);
    std::sort(in_order.begin(), in_order.end(), [](const Failed* a, const Failed* b) {
        return std::tuple(a->line, a->task) < std::tuple(b->line, b->task);
    });
    std::string out = "# " + std::to_string(failed_.size()) + " failed of " + std::string(list_name) +
                      "; run them again: work_queue_run failed.sh\n";
    for (const Failed* failed : in_order) {
        out += "# task " + std::to_string(task_number(failed->task));
        if (failed->line != 0) out += ", line " + std::to_string(failed->line);
        out += ": ";
        for (const char c : failed->why) out += c == '\n' || c == '\r' ? ' ' : c;
        out += '\n';
        out += failed->lines;
        if (!failed->lines.empty() && failed->lines.back() != '\n') out += '\n';
    }
    return out;
}

Status FailedList::write(const std::string& path, std::string_view list_name) const {
    if (!failed_.empty()) return write_atomically(path, text(list_name));
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return write_error(path, errno);
    return success();
}

}  // namespace wq::stats
