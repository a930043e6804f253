#include "api/waiting_results.h"

#include <algorithm>
#include <iterator>

namespace wq::api {

void WaitingResults::put(std::unique_ptr<TaskData>&& task, bool last) {
    std::list<Entry> entry;
    const Place place = entry.insert(entry.end(), Entry{nullptr, last});
    std::list<Place> of_tag{place};
    auto& tag = by_tag_[task->tag];
    by_id_.emplace(task->id, place);
    // Nothing below needs memory.
    place->of_tag = of_tag.begin();
    std::list<Entry>& list = list_of(*task);
    place->task = std::move(task);
    tag.splice(tag.end(), of_tag);
    list.splice(list.end(), entry);
}

void WaitingResults::remove(Place place, const TaskData& task) {
    const auto tag = by_tag_.find(task.tag);
    tag->second.erase(place->of_tag);
    if (tag->second.empty()) by_tag_.erase(tag);
    const auto [first, end] = by_id_.equal_range(task.id);
    by_id_.erase(std::find_if(first, end, [&](const auto& one) { return one.second == place; }));
    list_of(task).erase(place);
}

std::unique_ptr<TaskData> WaitingResults::take(Place place) {
    std::unique_ptr<TaskData> task = std::move(place->task);
    remove(place, *task);
    return task;
}

void WaitingResults::move_to(WaitingResults& other, Place place) {
    const TaskData& task = *place->task;
    other.put(std::move(place->task), place->last);
    remove(place, task);
}

// If put() ran out of memory, it leaves a tag without tasks.
WaitingResults::Place WaitingResults::first_of(const std::string& tag) {
    const auto found = by_tag_.find(tag);
    return found == by_tag_.end() || found->second.empty() ? end() : found->second.front();
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
