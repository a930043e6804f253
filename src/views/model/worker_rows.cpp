#include "views/model/worker_rows.h"

#include <iterator>
#include <map>
#include <utility>

namespace wq::views::model {

WorkerRows::WorkerRows(std::vector<records::hdf5::WorkerRow> workers,
                       std::span<const records::hdf5::ManagerRow> samples)
    : workers_(std::move(workers)) {
    std::map<std::int64_t, std::int64_t> ends;  // of sessions, by their starts
    for (const records::hdf5::ManagerRow& row : samples) ends[row.time_when_started] = row.timestamp;
    for (std::size_t place = 0; place < workers_.size(); ++place) {
        records::hdf5::WorkerRow& worker = workers_[place];
        places_[worker.worker].push_back(place);
        const auto next = ends.upper_bound(worker.joined);
        if (worker.left <= 0 && next != ends.begin()) worker.left = std::prev(next)->second;
    }
}

std::optional<std::size_t> WorkerRows::place_of(std::uint32_t id, std::int64_t when) const {
    const auto places = places_.find(id);
    if (places == places_.end()) return {};
    for (auto at = places->second.rbegin(); at != places->second.rend(); ++at)
        if (workers_[*at].joined <= when) return *at;
    return {};
}

}  // namespace wq::views::model
