#include "bindings/python/slices.h"

#include <pybind11/stl.h>

#include <functional>
#include <stdexcept>

#include "bindings/python/callback.h"
#include "bindings/python/slice_reader.h"
#include "bindings/python/text.h"

namespace py = pybind11;

namespace wq::bindings::python {

// ---- the queue ----

void PySlices::End::operator()(SliceQueue* last) {
    const auto end = [this, last] {
        delete last;
        session.reset();
        return true;
    };
    if (holds_lock_of_python())
        without_lock(end);
    else
        end();
    ending->done.set_value();
}

PySlices::Queue PySlices::share(std::unique_ptr<SliceQueue> queue, std::shared_ptr<MpiSession> session) {
    return {queue.release(), End{std::make_shared<Ending>(), std::move(session)}};
}

bool PySlices::is_ending(const Queue& queue) {
    return ending_of(queue).begun;
}

PySlices::~PySlices() {
    if (process_.is()) return;
    static_cast<void>(new Queue(std::move(queue_)));
}

PySlices::Queue PySlices::open() const {
    process_.check("this WorkQueue", "a process of its own takes slices by WorkQueue.join(contact)");
    if (!is_open()) throw std::runtime_error("this WorkQueue is closed");
    return queue_;
}

void PySlices::stop() {
    if (queue_ && process_.is()) ending_of(queue_).begun = true;
}

void PySlices::close() {
    if (!queue_ || !process_.is()) return;
    stop();
    interruptibly([queue = std::exchange(queue_, nullptr)]() mutable {
        const auto done = ending_of(queue).done.get_future();
        queue.reset();
        done.wait();
    });
}

template <class Part>
auto PySlices::wait_while_open(double seconds, Part part) const {
    const std::weak_ptr<SliceQueue> queue = open();
    bool ended = false;
    return in_parts(seconds, ended, [&](auto limit) -> decltype(part(std::declval<SliceQueue&>(), limit)) {
        const Queue held = queue.lock();
        if (!held || is_ending(held)) return std::nullopt;
        return part(*held, limit);
    });
}

std::optional<py::tuple> PySlices::take(double seconds) {
    const auto slice =
        wait_while_open(seconds, [](SliceQueue& queue, auto limit) { return queue.take_at_most(limit); });
    return slice ? std::optional(to_python(*slice)) : std::nullopt;
}

bool PySlices::wait(double seconds) {
    return wait_while_open(seconds,
                           [](SliceQueue& queue, auto limit) {
                               return queue.wait_at_most(limit) ? std::optional(true) : std::nullopt;
                           })
        .has_value();
}

// ---- slices and producers ----

py::tuple to_python(const Slice& slice) {
    return py::make_tuple(to_str(slice.text()), to_str(slice.work), slice.start, slice.end, slice.epoch,
                          slice.position);
}

Slice to_slice(const py::tuple& slice) {
    Slice one;
    one.work = slice[1].cast<Text>();
    one.start = slice[2].cast<std::optional<std::uint64_t>>();
    one.end = slice[3].cast<std::optional<std::uint64_t>>();
    one.epoch = slice[4].cast<std::uint64_t>();
    one.position = slice[5].cast<std::uint64_t>();
    return one;
}

PyProducer::PyProducer(const PySlices& slices, std::size_t capacity) : claimed_(std::make_shared<Claimed>()) {
    claimed_->queue = slices.open();
    claimed_->producer = std::make_unique<SliceProducer>(claimed_->queue->input_producer(capacity));
}

PyProducer::~PyProducer() {
    if (process_.is())
        close();
    else
        static_cast<void>(new std::shared_ptr<Claimed>(std::move(claimed_)));
}

std::optional<py::tuple> PyProducer::next(double seconds) {
    process_.check("this producer", "make one in the process that uses it");
    const std::weak_ptr<Claimed> claimed = claimed_;
    bool ended = false;
    const auto slice = in_parts(seconds, ended, [&](auto limit) -> std::optional<Slice> {
        const auto held = claimed.lock();
        if (!held) return std::nullopt;
        const std::lock_guard only(held->mutex);
        return held->producer ? held->producer->next_at_most(limit) : std::nullopt;
    });
    return slice ? std::optional(to_python(*slice)) : std::nullopt;
}

void PyProducer::stop() {
    if (claimed_ && process_.is()) claimed_->producer->stop();
}

void PyProducer::close() {
    if (!process_.is() || !claimed_) return;
    stop();
    without_lock([held = std::exchange(claimed_, nullptr)]() mutable {
        {
            const std::lock_guard only(held->mutex);
            held->producer.reset();
        }
        held.reset();
        return true;
    });
}

// ---- options ----

namespace {

Delivery delivery_of(const std::string& name) {
    if (name == "exactly_once") return Delivery::exactly_once;
    if (name == "at_most_once") return Delivery::at_most_once;
    if (name == "at_least_once") return Delivery::at_least_once;
    throw py::value_error("delivery is '" + name + "': give exactly_once, at_most_once or at_least_once");
}

void set_records(SliceOptions& options, py::function count) {
    options.records = [count = Callback(std::move(count))](const std::string& work) {
        return count.call(work, [](const py::object& records) {
            try {
                return records.cast<std::optional<std::uint64_t>>();
            } catch (const py::cast_error&) {
                throw py::type_error("records() returned " + std::string(py::repr(records)) +
                                     ": give a count, or None for one slice");
            }
        });
    };
}

std::function<void(const std::string&)> line_for(py::function say) {
    return [say = Callback(std::move(say))](const std::string& line) { say.print_line(line); };
}

template <std::string SliceOptions::*option>
void set_text(SliceOptions& options, const Text& value) {
    options.*option = value.bytes;
}

void bind_slice_options(py::module_& module) {
    py::class_<SliceOptions>(module, "SliceOptions")
        .def(py::init<>())
        .def_readwrite("num_epochs", &SliceOptions::num_epochs)
        .def_readwrite("shuffle", &SliceOptions::shuffle)
        .def_readwrite("seed", &SliceOptions::seed)
        .def_readwrite("num_slices", &SliceOptions::num_slices)
        .def_readwrite("num_slices_per_work", &SliceOptions::num_slices_per_work)
        .def_readwrite("lines", &SliceOptions::lines)
        .def_readwrite("record_bytes", &SliceOptions::record_bytes)
        .def_readwrite("must_exist", &SliceOptions::must_exist)
        .def_readwrite("commit_by_hand", &SliceOptions::commit_by_hand)
        .def_readwrite("record_each", &SliceOptions::record_each)
        .def("_prefix", &set_text<&SliceOptions::prefix>)
        .def("_restore", &set_text<&SliceOptions::restore>)
        .def("_name", &set_text<&SliceOptions::name>)
        .def("_contact", &set_text<&SliceOptions::contact>)
        .def("_delivery", [](SliceOptions& o, const std::string& name) { o.delivery = delivery_of(name); })
        .def("_records", set_records)
        .def("_say", [](SliceOptions& o, py::function say) { o.say = line_for(std::move(say)); });
}

std::unique_ptr<PySlices> open_slices(const std::vector<Text>& works, const SliceOptions& options) {
    std::vector<std::string> names(works.begin(), works.end());
    return std::make_unique<PySlices>(interruptibly([names = std::move(names), options] {
        return PySlices::share(std::make_unique<SliceQueue>(names, options));
    }));
}

std::unique_ptr<PySlices> join_slices(const Text& contact, double wait, bool commit_by_hand,
                                      bool wait_for_others, py::function say) {
    SliceWorkerOptions options;
    options.contact = contact;
    options.wait = wait;
    options.commit_by_hand = commit_by_hand;
    options.wait_for_others = wait_for_others;
    options.say = line_for(std::move(say));
    auto queue = interruptibly([options] {
        return PySlices::share(std::unique_ptr<SliceQueue>(new SliceQueue(SliceQueue::as_worker(options))));
    });
    return std::make_unique<PySlices>(std::move(queue), PySlices::Giver::another);
}

void save(const PySlices& slices, const Text& path) {
    interruptibly([queue = slices.open(), path = path.bytes] { queue->save(path); });
}

void add_summary(const PySlices& slices, const std::optional<Text>& hdf5,
                 const std::optional<Text>& tensorboard, double interval) {
    SliceSummaryOptions options;
    if (hdf5) options.hdf5 = hdf5->bytes;
    if (tensorboard) options.tensorboard = tensorboard->bytes;
    options.interval = interval;
    without_lock([&, queue = slices.open()] {
        queue->add_summary(options);
        return true;
    });
}

void bind_queue_of_slices(py::module_& module) {
    py::class_<PySlices>(module, "Slices")
        .def(py::init(&open_slices), py::arg("works"), py::arg("options"))
        .def_static("join", &join_slices)
        .def_property_readonly("is_open", &PySlices::is_open)
        .def("stop", &PySlices::stop)
        .def("close", &PySlices::close)
        .def("take", &PySlices::take)
        .def("wait", &PySlices::wait)
        .def("commit",
             [](const PySlices& s, const py::tuple& slice) { return s.open()->commit(to_slice(slice)); })
        .def("commit_failed", [](const PySlices& s,
                                 const py::tuple& slice) { return s.open()->commit_failed(to_slice(slice)); })
        .def("save", save)
        .def("add_summary", add_summary)
        .def_property_readonly("failed", [](const PySlices& s) { return s.open()->failed(); })
        .def_property_readonly("size", [](const PySlices& s) { return s.open()->size(); })
        .def_property_readonly("rank", [](const PySlices& s) { return s.open()->rank(); })
        .def_property_readonly("seed", [](const PySlices& s) { return s.open()->seed(); })
        .def_property_readonly("taken", [](const PySlices& s) { return s.open()->taken(); })
        .def_property_readonly("lost", [](const PySlices& s) { return s.open()->lost().stop_requested(); })
        .def_property_readonly("name", [](const PySlices& s) { return to_str(s.open()->options().name); });
}

}  // namespace

void bind_slices(py::module_& module) {
    bind_slice_options(module);
    bind_queue_of_slices(module);
    py::class_<PyProducer>(module, "Producer")
        .def(py::init<const PySlices&, std::size_t>())
        .def("next", &PyProducer::next)
        .def("stop", &PyProducer::stop)
        .def("close", &PyProducer::close);
    bind_slice_reader(module);
}

}  // namespace wq::bindings::python
