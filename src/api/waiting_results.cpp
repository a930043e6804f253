#include "api/waiting_results.h"

#include <algorithm>
#include <iterator>

namespace wq::api {

void WaitingResults::put(std::unique_ptr<TaskData> task, bool last) {
    const Place place = all_.insert(all_.end(), Entry{std::move(task), last});
    auto& tag = by_tag_[place->task->tag];
    place->of_tag = tag.insert(tag.end(), place);
    by_id_.emplace(place->task->id, place);
}

std::unique_ptr<TaskData> WaitingResults::take(Place place) {
    const auto tag = by_tag_.find(place->task->tag);
    tag->second.erase(place->of_tag);
    if (tag->second.empty()) by_tag_.erase(tag);
    const auto [first, end] = by_id_.equal_range(place->task->id);
    by_id_.erase(std::find_if(first, end, [&](const auto& one) { return one.second == place; }));
    std::unique_ptr<TaskData> task = std::move(place->task);
    all_.erase(place);
    return task;
}

WaitingResults::Place WaitingResults::first_of(const std::string& tag) {
    const auto found = by_tag_.find(tag);
    return found == by_tag_.end() ? end() : found->second.front();
}

template <class Wanted>
WaitingResults::Place WaitingResults::find(std::int64_t id, Wanted&& wanted) {
    const auto [first, last] = by_id_.equal_range(id);
    const auto found = std::find_if(first, last, [&](const auto& one) { return wanted(*one.second); });
    return found == last ? end() : found->second;
}

WaitingResults::Place WaitingResults::of(std::int64_t id) {
    return find(id, [](const Entry&) { return true; });
}

WaitingResults::Place WaitingResults::report_of_range(std::int64_t id) {
    return find(id, [](const Entry& entry) { return entry.task->kind == TaskKind::range; });
}

}  // namespace wq::api
