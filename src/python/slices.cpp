#include "python/slices.h"

#include <pybind11/stl.h>

#include <functional>
#include <stdexcept>

#include "python/callback.h"
#include "python/memory_view.h"
#include "python/text.h"

namespace py = pybind11;

namespace wq::python {

// ---- the queue ----

PySlices::Queue PySlices::share(std::unique_ptr<SliceQueue> queue, std::shared_ptr<MpiSession> session) {
    return {queue.release(), [session = std::move(session)](SliceQueue* last) mutable {
                std::optional<py::gil_scoped_release> others_run;
                if (holds_lock_of_python()) others_run.emplace();
                delete last;
                session.reset();
            }};
}

PySlices::~PySlices() {
    if (process_.is()) return;
    static_cast<void>(new Queue(std::move(queue_)));
}

PySlices::Queue PySlices::open() const {
    process_.check("this WorkQueue", "a process of its own takes slices by WorkQueue.join(contact)");
    if (!queue_) throw std::runtime_error("this WorkQueue is closed");
    return queue_;
}

void PySlices::close() {
    if (!queue_ || !process_.is()) return;
    interruptibly([queue = std::exchange(queue_, nullptr)]() mutable { queue.reset(); });
}

py::object PySlices::take(double seconds) {
    const Queue queue = open();
    bool ended = false;
    const auto slice = in_parts(seconds, ended, [&](auto limit) { return queue->take_at_most(limit); });
    return slice ? py::object(to_python(*slice)) : py::none();
}

bool PySlices::wait(double seconds) {
    const Queue queue = open();
    bool ended = false;
    return in_parts(
               seconds, ended,
               [&](auto limit) { return queue->wait_at_most(limit) ? std::optional(true) : std::nullopt; })
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

PyProducer::PyProducer(const PySlices& slices, std::size_t capacity)
    : queue_(slices.open()), producer_(std::make_unique<SliceProducer>(queue_->input_producer(capacity))) {}

PyProducer::~PyProducer() {
    if (process_.is()) {
        close();
    } else {
        static_cast<void>(producer_.release());
        static_cast<void>(new PySlices::Queue(std::move(queue_)));
    }
}

py::object PyProducer::next(double seconds) {
    process_.check("this producer", "make one in the process that uses it");
    bool ended = false;
    const auto slice = in_parts(seconds, ended, [&](auto limit) {
        const std::lock_guard only(mutex_);
        return producer_ ? producer_->next_at_most(limit) : std::nullopt;
    });
    return slice ? py::object(to_python(*slice)) : py::none();
}

void PyProducer::stop() {
    if (producer_ && process_.is()) producer_->stop();
}

void PyProducer::close() {
    if (!process_.is() || !producer_) return;
    producer_->stop();
    PySlices::Queue queue;
    {
        const py::gil_scoped_release others_run;
        const std::lock_guard only(mutex_);
        producer_.reset();
        queue = std::move(queue_);
    }
}

// ---- readers ----

PyReader::PyReader(const std::string& kind, std::uint64_t record_bytes) {
    if (kind == "lines")
        reader_ = std::make_unique<LineReader>();
    else if (kind == "rows")
        reader_ = std::make_unique<RowReader>();
    else
        reader_ = std::make_unique<RecordReader>(record_bytes);
}

void PyReader::open(const PySlices::Queue& queue, const Slice& slice) {
    const py::gil_scoped_release others_run;
    const std::lock_guard only(mutex_);
    reader_->open(*queue, slice);
    queue_ = queue;
}

py::object PyReader::values_of(const RecordValues& values, bool as_text) {
    if (values.empty()) return py::list();
    if (const auto memory = reader_->keep()) {
        const std::string_view first = values[0], last = values[values.size() - 1];
        // The engine gives these bytes to nobody else.
        return py::cast(Memory{memory, const_cast<char*>(first.data()),
                               static_cast<std::size_t>(last.data() + last.size() - first.data()), true});
    }
    py::list all(values.size());
    for (std::size_t n = 0; n < values.size(); ++n) {
        const std::string_view value = values[n];
        PyObject* const one =
            as_text ? PyUnicode_DecodeUTF8(value.data(), static_cast<py::ssize_t>(value.size()),
                                           "surrogateescape")
                    : PyBytes_FromStringAndSize(value.data(), static_cast<py::ssize_t>(value.size()));
        if (one == nullptr) throw py::error_already_set();
        PyList_SET_ITEM(all.ptr(), static_cast<py::ssize_t>(n), one);
    }
    return py::object(std::move(all));
}

py::tuple PyReader::read(std::size_t most, bool as_text) {
    std::unique_lock only(mutex_, std::defer_lock);
    Records records;
    {
        const py::gil_scoped_release others_run;
        only.lock();
        records = reader_->read_up_to(most);
    }
    std::string prefix;
    std::uint64_t first = 0;
    if (!records.keys.empty()) {
        prefix = records.keys[0];
        const std::size_t digits = prefix.find_last_not_of("0123456789") + 1;
        first = std::stoull(prefix.substr(digits));
        prefix.resize(digits);
    }
    return py::make_tuple(to_str(prefix), first, records.keys.size(), values_of(records.values, as_text));
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
        return count.call(
            work, [](const py::object& records) { return records.cast<std::optional<std::uint64_t>>(); });
    };
}

std::function<void(const std::string&)> line_for(py::function say) {
    return [say = Callback(std::move(say))](const std::string& line) {
        say.call(line, [](const py::object&) { return true; });
    };
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
    return std::make_unique<PySlices>(interruptibly([options] {
        return PySlices::share(std::unique_ptr<SliceQueue>(new SliceQueue(SliceQueue::as_worker(options))));
    }));
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
    const auto queue = slices.open();
    const py::gil_scoped_release others_run;
    queue->add_summary(options);
}

void bind_queue_of_slices(py::module_& module) {
    py::class_<PySlices>(module, "Slices")
        .def(py::init(&open_slices), py::arg("works"), py::arg("options"))
        .def_static("join", &join_slices)
        .def_property_readonly("is_open", &PySlices::is_open)
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
    py::class_<PyReader>(module, "Reader")
        .def(py::init<const std::string&, std::uint64_t>())
        .def("open", [](PyReader& reader, const PySlices& slices,
                        const py::tuple& slice) { reader.open(slices.open(), to_slice(slice)); })
        .def("read", &PyReader::read)
        .def_property_readonly("produced", &PyReader::produced)
        .def_property_readonly("row_type", &PyReader::row_type);
}

}  // namespace wq::python
