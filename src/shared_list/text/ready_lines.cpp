#include "shared_list/text/ready_lines.h"

#include <algorithm>
#include <utility>

namespace wq::shared_list::text {

namespace {

std::uint64_t last_in(const std::set<std::uint64_t>& numbers, std::uint64_t before) {
    const auto next = numbers.lower_bound(before);
    return next == numbers.begin() ? 0 : *std::prev(next);
}

void take_smaller(std::uint64_t& number, std::uint64_t other) {
    if (other != 0 && (number == 0 || other < number)) number = other;
}

// Calls `use` with the sets of a worker.
template <class Free, class Use>
void for_both(const Free& free, WorkerId worker, Use use) {
    use(free.of_any);
    if (const auto own = free.of_worker.find(worker); own != free.of_worker.end()) use(own->second);
}

}  // namespace

void ReadyLines::Free::add(std::uint64_t number, const MarkedLine& line) {
    if (line.workers.empty()) of_any.insert(number);
    for (const WorkerId worker : line.workers) of_worker[worker].insert(number);
}

void ReadyLines::Free::remove(std::uint64_t number, const MarkedLine& line) {
    of_any.erase(number);
    for (const WorkerId worker : line.workers) of_worker[worker].erase(number);
}

std::uint64_t ReadyLines::Free::last_before(std::uint64_t number, WorkerId worker) const {
    std::uint64_t last = 0;
    for_both(*this, worker, [&](const Numbers& numbers) { last = std::max(last, last_in(numbers, number)); });
    return last;
}

ReadyLines::ReadyLines(const Document& list) : list_(list) {
    for (const std::uint64_t number : list.live_lines())
        if (list.line(number).kind != LineKind::environment) add_undone(number);
    resolve({list.live_lines().begin(), list.live_lines().end()});
}

void ReadyLines::add_undone(std::uint64_t number) {
    undone_.insert(number);
    for (const auto& [name, sequential] : list_.line(number).groups) {
        if (name.empty()) {
            barriers_.insert(number);
            continue;
        }
        Group& group = groups_[name];
        group.members.insert(number);
        if (sequential) group.sequential.insert(number);
    }
}

void ReadyLines::remove_undone(std::uint64_t number) {
    undone_.erase(number);
    barriers_.erase(number);
    for (const auto& membership : list_.line(number).groups) {
        const auto group = groups_.find(membership.name);
        if (group == groups_.end()) continue;
        group->second.members.erase(number);
        group->second.sequential.erase(number);
    }
}

// The last one above: most often, it ends last.
std::uint64_t ReadyLines::blocker(std::uint64_t number) const {
    std::uint64_t last = last_in(barriers_, number);
    for (const auto& [name, sequential] : list_.line(number).groups) {
        if (name.empty()) {
            last = std::max(last, last_in(undone_, number));
            continue;
        }
        const auto group = groups_.find(name);
        if (group == groups_.end()) continue;
        last = std::max(last, last_in(sequential ? group->second.members : group->second.sequential, number));
    }
    return last;
}

void ReadyLines::resolve(std::vector<std::uint64_t> numbers) {
    while (!numbers.empty()) {
        const std::uint64_t number = numbers.back();
        numbers.pop_back();
        const MarkedLine& line = list_.line(number);
        if (const std::uint64_t by = blocker(number); by != 0) {
            waiting_[by].push_back(number);
        } else if (line.kind == LineKind::environment) {
            environment_.add(number, line);
        } else if (line.kind == LineKind::barrier) {  // nothing above it waits or runs
            remove_undone(number);
            if (auto freed = waiting_.extract(number))
                numbers.insert(numbers.end(), freed.mapped().begin(), freed.mapped().end());
        } else {
            tasks_.add(number, line);
        }
    }
}

void ReadyLines::begin(std::uint64_t number) {
    tasks_.remove(number, list_.line(number));
}

void ReadyLines::end(std::uint64_t number) {
    remove_undone(number);
    if (auto freed = waiting_.extract(number)) resolve(std::move(freed.mapped()));
}

std::uint64_t ReadyLines::first_task(WorkerId worker) const {
    std::uint64_t first = 0;
    for_both(tasks_, worker, [&](const Numbers& numbers) {
        const auto fits = std::ranges::find_if(
            numbers, [&](std::uint64_t number) { return !has_tried(list_.line(number), worker); });
        if (fits != numbers.end()) take_smaller(first, *fits);
    });
    return first;
}

std::uint64_t ReadyLines::first_environment(WorkerId worker, std::uint64_t after) const {
    std::uint64_t first = 0;
    for_both(environment_, worker, [&](const Numbers& numbers) {
        const auto next = numbers.upper_bound(after);
        if (next != numbers.end()) take_smaller(first, *next);
    });
    return first;
}

std::optional<Choice> ReadyLines::choose(WorkerId worker, std::uint64_t last) const {
    const std::uint64_t task = first_task(worker);
    const std::uint64_t environment = first_environment(worker, last);
    if (environment != 0 && (task == 0 || environment < task)) return Choice{environment, true, 0};
    if (task == 0) return std::nullopt;
    return Choice{task, false, task < last ? environment_.last_before(task, worker) : 0};
}

}  // namespace wq::shared_list::text
