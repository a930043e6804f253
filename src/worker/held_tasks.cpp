#include "worker/held_tasks.h"

namespace wq::worker {

// False: over TCP it may be from a manager that we gave up, and must not be answered.
bool HeldTasks::take(const Key& key) {
    return tasks_.erase(key) > 0 || !link_.over_tcp();
}

void HeldTasks::answer_end(launcher::TaskEnded& end) {
    const Key key{end.task, end.attempt};
    if (!take(key)) return;
    link_.answer(wire::Ended{end.task, end.attempt, std::move(end.outcome), std::move(end.output)}, key);
}

void HeldTasks::answer_loss(Key key, const std::string& why) {
    launcher::TaskEnded ended{key.first, key.second, {}, {}};
    ended.outcome.ending = core::Ending::worker_lost;
    ended.outcome.reason = why;
    answer_end(ended);
}

void HeldTasks::give_back(Key key) {
    if (take(key)) link_.answer(wire::GivenBack{key.first, key.second}, key);
}

std::vector<HeldTasks::Key> HeldTasks::keys() const {
    std::vector<Key> keys;
    for (const auto& [key, ticket] : tasks_) keys.push_back(key);
    return keys;
}

}  // namespace wq::worker
