#include "api/range_gather.h"

#include <algorithm>

#include "engine/model/manager_stats.h"

namespace wq::api {

namespace {
constexpr Duration gather_time = std::chrono::seconds(1);
}

void RangeGather::add(std::uint64_t range, const records::journal::RangeRecord& record) {
    if (!due_) due_ = instant_now() + gather_time;
    const auto [place, is_new] = gathered_.try_emplace({range, record.worker.value()}, record);
    if (is_new) return;
    records::journal::RangeRecord& all = place->second;
    record.tasks.for_each([&](Interval part) { all.tasks.insert(part); });
    all.started_us = std::min(all.started_us, record.started_us);
    engine::model::add_bounded(all.wall_us, record.wall_us);
    engine::model::add_bounded(all.user_us, record.user_us);
    engine::model::add_bounded(all.system_us, record.system_us);
    all.peak_memory_kb = std::max(all.peak_memory_kb, record.peak_memory_kb);
    all.received_us = record.received_us;
}

std::vector<records::journal::RangeRecord> RangeGather::take() {
    std::vector<records::journal::RangeRecord> taken;
    for (auto& [key, record] : gathered_) taken.push_back(std::move(record));
    gathered_.clear();
    due_.reset();
    return taken;
}

}  // namespace wq::api
