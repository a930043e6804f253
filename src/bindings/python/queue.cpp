#include "bindings/python/queue.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "api/listening.h"
#include "api/status_parts.h"
#include "api/task_data.h"
#include "bindings/python/waits.h"

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

std::size_t is_by_tag_only(const PyTask& task) {
    return TaskAccess::data(task.spec).by_tag_only ? 1 : 0;
}

}  // namespace

PyQueue::PyQueue(ManagerOptions options, api::HeldPort held, std::shared_ptr<MpiSession> session)
    : session_(std::move(session)),
      deferred_(std::make_unique<api::DeferredManager>(std::move(options), std::move(held))) {}

PyQueue::~PyQueue() {
    end();
}

void PyQueue::end() {
    for (auto& [id, object] : std::exchange(tasks_, {})) object.cast<PyTask&>().in_queue = false;
    by_tag_only_ = 0;
    memories_.clear();
    waits_->ended = true;
    lines_.reset();
    auto session = std::move(session_);
    auto manager = deferred_->leave();
    // Its last lines may be for a function of Python.
    without_lock([&] {
        std::unique_lock last(waits_->in_manager, std::defer_lock);
        if (manager) last.lock();
        manager.reset();
        session.reset();
        return true;
    });
}

void PyQueue::interpreter_ends() {
    thread_of_the_end_ = std::this_thread::get_id();
}

void PyQueue::refuse() const {
    const auto own = std::this_thread::get_id();
    if (thread_of_the_end_.value_or(own) == own) throw std::runtime_error(deferred_->why_not());
    PyErr_SetNone(PyExc_SystemExit);
    throw py::error_already_set();
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
    if (manager == nullptr) refuse();
    return *manager;
}

std::int64_t PyQueue::submit(const py::object& object) {
    auto& task = object.cast<PyTask&>();
    static_cast<void>(task.to_specify());
    if (!deferred_->ours() || is_over()) refuse();
    if (ids_.next() == 0) throw std::runtime_error("no ids of tasks are left");
    std::string refusal;
    const std::int64_t id = deferred_->submit(task.spec, refusal);
    // The next submit() makes another one.
    auto data = TaskAccess::take(std::move(task.spec));
    data->memory.reset();
    task.spec = TaskAccess::wrap(std::move(data));
    if (id == 0) throw py::value_error(refusal);
    task.id = ids_.next();
    ids_.take();
    task.in_queue = true;
    task.ended.reset();
    tasks_.emplace(id, object);
    by_tag_only_ += is_by_tag_only(task);
    return task.id;
}

std::int64_t PyQueue::begin_ids(int least) {
    ids_.at_least(least);
    return ids_.next();
}

std::int64_t PyQueue::of_manager(std::int64_t id) const {
    if (id < 1 || id > std::numeric_limits<int>::max()) return 0;
    return ids_.of_manager(static_cast<int>(id)).value_or(0);
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

py::list PyQueue::cancel_by_category(const std::string& category) {
    // There may be many.
    std::vector<Task> cancelled = without_lock([&manager = serving(), waits = waits_, &category] {
        const std::shared_lock in_manager(waits->in_manager);
        return waits->ended ? std::vector<Task>() : manager.cancel_by_category(category);
    });
    py::list all;
    for (Task& task : cancelled)
        if (py::object object = take_back(std::move(task)); !object.is_none()) all.append(object);
    return all;
}

std::vector<py::object> PyQueue::tasks() const {
    std::vector<std::int64_t> ids;
    for (const auto& [id, task] : tasks_) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    std::vector<py::object> all;
    for (const std::int64_t id : ids) all.push_back(tasks_.at(id));
    return all;
}

std::string PyQueue::status(const std::string& request) {
    Manager& manager = serving();
    const auto what = manager::status::status_of(request);
    if (!what) throw py::value_error("status of '" + request + "': give queue, tasks, workers or categories");
    api::TasksOfProgram tasks;
    for (const auto& [id, object] : tasks_) {
        const PyTask& task = object.cast<PyTask&>();
        manager::status::TaskOfStatus named = api::named(task.id, TaskAccess::data(task.spec));
        if (!task.call_name.empty()) named.command = task.call_name;
        tasks.emplace_back(id, std::move(named));
    }
    const ManagerOptions& options = deferred_->options;
    return api::status_as_json(*what, manager, api::described(options, manager.port()), std::move(tasks));
}

py::object PyQueue::wait(double seconds, const std::optional<Text>& tag) {
    bool none_is_left = false;
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(std::max(seconds, 0.0));
    if (!tag && !serving().gather({})) {
        in_parts(seconds, none_is_left, [&manager = serving(), waits = waits_](auto limit) {
            const std::shared_lock in_manager(waits->in_manager);
            return waits->ended || manager.gather(limit) ? std::optional(true) : std::nullopt;
        });
        const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
        if (seconds >= 0) seconds = std::max(left.count(), 0.0);
    }
    auto ended = in_parts(seconds, none_is_left, [&manager = serving(), waits = waits_, &tag](auto limit) {
        const std::shared_lock in_manager(waits->in_manager);
        if (waits->ended) return std::optional<Task>();
        return tag ? manager.wait_for_tag_at_most(*tag, limit) : manager.wait_at_most(limit);
    });
    return take_back(std::move(ended));
}

}  // namespace wq::bindings::python
