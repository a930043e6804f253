#include "manager/environment_lines.h"

#include <algorithm>
#include <utility>

namespace wq::manager {

void EnvironmentLines::add(std::uint64_t position, std::string text, std::vector<std::uint32_t> workers) {
    lines_.push_back({position, std::move(text), std::move(workers)});
    for (auto& [key, link] : links_.all()) tell(link);
}

void EnvironmentLines::tell(Link& link) {
    if (!link.record) return;
    for (; link.told_environment < lines_.size(); ++link.told_environment) {
        const Line& line = lines_[link.told_environment];
        const bool applies =
            line.workers.empty() || std::find(line.workers.begin(), line.workers.end(),
                                              link.record->worker.value()) != line.workers.end();
        if (applies) links_.tell(link, net::messages::EnvironmentLine{line.position, line.text});
    }
}

const std::string* EnvironmentLines::text(std::uint64_t position) const {
    return position == 0 || position > lines_.size() ? nullptr : &lines_[position - 1].text;
}

}  // namespace wq::manager
