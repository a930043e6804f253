#include "manager/run/array_ends.h"

#include <algorithm>

namespace wq::manager::run {

ArrayEnds::ArrayEnds(const EarlierRun& earlier) : ends_(earlier.ends.begin(), earlier.ends.end()) {
    std::sort(ends_.begin(), ends_.end());
}

void ArrayEnds::find(const engine::tasklist::IndexSet& indexes, TaskId first) {
    std::uint64_t id = first.value();
    for (const engine::tasklist::IndexRange& part : indexes.ranges()) {
        find(part, id);
        id += part.count();
    }
}

void ArrayEnds::find(const engine::tasklist::IndexRange& part, std::uint64_t first) {
    const auto before = [](const End& end, std::uint64_t index) { return end.first < index; };
    const auto from = std::lower_bound(ends_.begin(), ends_.end(), part.first, before);
    const auto to = std::lower_bound(from, ends_.end(), part.last + 1, before);
    const auto note = [&](const End& end) {
        (end.second == EarlierRun::End::done ? done_ : failed_)
            .insert(first + (end.first - part.first) / part.step);
    };
    const auto within = static_cast<std::uint64_t>(to - from);
    looks_ += std::min(within, part.count());
    if (within <= part.count()) {
        for (auto end = from; end != to; ++end)
            if ((end->first - part.first) % part.step == 0) note(*end);
        return;
    }
    auto end = from;
    for (std::uint64_t item = 0; item < part.count(); ++item) {
        const std::uint64_t index = part.first + item * part.step;
        end = std::lower_bound(end, to, index, before);
        if (end != to && end->first == index) note(*end);
    }
}

}  // namespace wq::manager::run
