#include "host/lane.h"

#include <algorithm>

namespace wq::host {

Lane* Lanes::acquire() {
    if (idle_.empty()) {
        const std::string temporary = scratch_.empty() ? "" : scratch_ + "/" + std::to_string(all_.size());
        auto lane = std::make_unique<Lane>(all_.size(), base_, temporary, gpu_variable_);
        if (!lane->out.renew() || !lane->err.renew()) return nullptr;
        idle_.push_back(lane.get());
        all_.push_back(std::move(lane));
    }
    Lane* const lane = idle_.back();
    idle_.pop_back();
    running_.push_back(lane);
    lane->pid = 0;
    lane->outcome = {};
    lane->verdict = Verdict::none;
    lane->has_deed = lane->announced = false;
    return lane;
}

void Lanes::retire(Lane& lane) {
    std::erase(running_, &lane);
}

void Lanes::release(Lane& lane) {
    idle_.push_back(&lane);
}

namespace {
template <class Condition>
Lane* find(const std::vector<Lane*>& lanes, Condition&& condition) {
    const auto found = std::find_if(lanes.begin(), lanes.end(), condition);
    return found == lanes.end() ? nullptr : *found;
}
}  // namespace

Lane* Lanes::by_pid(pid_t pid) const {
    return pid == 0 ? nullptr : find(running_, [&](const Lane* lane) { return lane->pid == pid; });
}

Lane* Lanes::by_task(TaskId task, Attempt attempt) const {
    return find(running_, [&](const Lane* lane) {
        return lane->order.order.task == task && lane->order.order.attempt == attempt;
    });
}

Lane* Lanes::by_serial(std::uint64_t serial) const {
    return find(running_, [&](const Lane* lane) { return lane->order.serial == serial; });
}

}  // namespace wq::host
