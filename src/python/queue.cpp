#include "python/queue.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "program_manager/listening.h"
#include "program_manager/task_data.h"
#include "python/waits.h"

namespace py = pybind11;

namespace wq::python {

namespace {

std::size_t is_by_tag_only(const PyTask& task) {
    return TaskAccess::data(task.spec).by_tag_only ? 1 : 0;
}

}  // namespace

PyQueue::PyQueue(ManagerOptions options, program_manager::HeldPort held, std::shared_ptr<MpiSession> session)
    : session_(std::move(session)),
      deferred_(std::make_unique<api::DeferredManager>(std::move(options), std::move(held))) {}

PyQueue::~PyQueue() {
    end();
}

void PyQueue::end() {
    for (auto& [id, object] : std::exchange(tasks_, {})) object.cast<PyTask&>().in_queue = false;
    by_tag_only_ = 0;
    memories_.clear();
    ended_ = true;
    Serving serving;
    lines_.reset();
    serving.session = std::move(session_);
    serving.manager = deferred_->leave();
    drop(std::move(serving));
}

// Without Python's lock, if it may be the last holder: the manager's last lines may be for a function of
// Python.
void PyQueue::drop(Serving serving) {
    without_lock([held = std::move(serving)]() mutable {
        held.manager.reset();
        held.session.reset();
        return true;
    });
}

void PyQueue::say(py::function say) {
    lines_ = std::make_shared<HeldLines>(Callback(std::move(say)));
    deferred_->options.say = [lines = lines_](const std::string& line) { lines->say(line); };
}

// Python's lock is held, so that it starts once. A manager that fails to start waits for the thread of its
// lines, which must not wait for Python's lock then.
Manager& PyQueue::serving() {
    Manager* const manager = deferred_->serving();
    if (const auto lines = std::exchange(lines_, nullptr)) lines->release();
    if (manager == nullptr) throw std::runtime_error(deferred_->why_not());
    return *manager;
}

std::int64_t PyQueue::submit(const py::object& object) {
    auto& task = object.cast<PyTask&>();
    static_cast<void>(task.to_specify());
    if (!deferred_->ours()) throw std::runtime_error(deferred_->why_not());
    std::string refusal;
    const std::int64_t id = deferred_->submit(task.spec, refusal);
    // The next submit() makes another one.
    auto data = TaskAccess::take(std::move(task.spec));
    data->memory.reset();
    task.spec = TaskAccess::wrap(std::move(data));
    if (id == 0) throw py::value_error(refusal);
    task.id = id;
    task.in_queue = true;
    task.ended.reset();
    tasks_.emplace(id, object);
    by_tag_only_ += is_by_tag_only(task);
    return id;
}

py::object PyQueue::take_back(std::optional<Task> ended) {
    if (!ended) return py::none();
    const auto found = tasks_.find(ended->id());
    if (found == tasks_.end()) return py::none();
    py::object object = std::move(found->second);
    tasks_.erase(found);
    auto& task = object.cast<PyTask&>();
    by_tag_only_ -= is_by_tag_only(task);
    task.ended = std::move(ended);
    task.in_queue = false;
    return object;
}

std::vector<py::object> PyQueue::tasks() const {
    std::vector<std::int64_t> ids;
    for (const auto& [id, task] : tasks_) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    std::vector<py::object> all;
    for (const std::int64_t id : ids) all.push_back(tasks_.at(id));
    return all;
}

py::object PyQueue::wait(double seconds, const std::optional<Text>& tag) {
    Manager& manager = serving();
    Serving held{session_, deferred_->shared()};
    struct Dropped {
        Serving& held;
        ~Dropped() { drop(std::move(held)); }
    } const dropped{held};
    bool none_is_left = false;
    auto ended = in_parts(seconds, none_is_left, [&](std::chrono::nanoseconds limit) {
        if (ended_) return std::optional<Task>();
        return tag ? manager.wait_for_tag_at_most(*tag, limit) : manager.wait_at_most(limit);
    });
    return take_back(std::move(ended));
}

}  // namespace wq::python
