#include "bindings/python/slice_reader.h"

#include <algorithm>
#include <stdexcept>

#include "bindings/python/text.h"

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

// `count` values, from number `first` on.
py::object values_of(SliceReader& reader, const RecordValues& values, std::size_t first, std::size_t count,
                     bool as_text) {
    if (count == 0) return py::list();
    if (const auto memory = reader.keep()) {
        const std::string_view begin = values[first], last = values[first + count - 1];
        // The engine gives these bytes to nobody else.
        return py::cast(Memory{memory, const_cast<char*>(begin.data()),
                               static_cast<std::size_t>(last.data() + last.size() - begin.data()), true});
    }
    py::list all(count);
    for (std::size_t n = 0; n < count; ++n) {
        const std::string_view value = values[first + n];
        PyObject* const one =
            as_text ? PyUnicode_DecodeUTF8(value.data(), static_cast<py::ssize_t>(value.size()),
                                           "surrogateescape")
                    : PyBytes_FromStringAndSize(value.data(), static_cast<py::ssize_t>(value.size()));
        if (one == nullptr) throw py::error_already_set();
        PyList_SET_ITEM(all.ptr(), static_cast<py::ssize_t>(n), one);
    }
    return py::object(std::move(all));
}

}  // namespace

PyReader::PyReader(std::string kind, std::uint64_t record_bytes)
    : kind_(std::move(kind)), record_bytes_(record_bytes) {
    reading_->reader = make();
}

std::unique_ptr<SliceReader> PyReader::make() const {
    if (kind_ == "lines") return std::make_unique<LineReader>();
    if (kind_ == "rows") return std::make_unique<RowReader>();
    return std::make_unique<RecordReader>(record_bytes_);
}

// A thread for each call costs more than most reads, so only a call that may wait long has one.
template <class Work>
void PyReader::run(Work work, bool may_wait) const {
    if (may_wait) return interruptibly(std::move(work));
    without_lock([&] {
        work();
        return true;
    });
}

void PyReader::open(const PySlices& slices, const Slice& slice) {
    const bool joined = slices.is_joined();
    if (joined) reading_->may_wait = true;
    auto work = [reading = reading_, queue = slices.open(), fresh = make(), slice]() mutable {
        const std::lock_guard only(reading->mutex);
        reading->records.reset();
        reading->wrong = nullptr;
        try {
            if (PySlices::is_ending(queue)) throw std::runtime_error("this WorkQueue is closed");
            if (!reading->reader) reading->reader = std::move(fresh);
            reading->reader->open(*queue, slice);
            reading->queue = std::move(queue);
            reading->may_wait = reading->reader->may_wait();
        } catch (const std::exception&) {
            reading->wrong = std::current_exception();
        }
    };
    run(std::move(work), joined);
    const auto wrong = without_lock([this] {
        const std::lock_guard only(reading_->mutex);
        return std::exchange(reading_->wrong, nullptr);
    });
    if (wrong) std::rethrow_exception(wrong);
}

py::tuple PyReader::read(std::size_t most, bool as_text) {
    if (most == 0) throw std::invalid_argument("read_up_to(0): it reads at least 1 record");
    for (;;) {
        const auto work = [reading = reading_, most] {
            const std::lock_guard only(reading->mutex);
            if (reading->records || reading->wrong) return;
            try {
                reading->given = 0;
                reading->records = reading->reader ? reading->reader->read_up_to(most) : Records();
            } catch (const std::exception&) {
                reading->wrong = std::current_exception();
            }
        };
        run(work, reading_->may_wait);
        // Another thread may have come between: it reads, or has taken the records.
        const std::unique_lock only(reading_->mutex, std::try_to_lock);
        if (!only.owns_lock()) continue;
        if (reading_->wrong) std::rethrow_exception(std::exchange(reading_->wrong, nullptr));
        if (reading_->records) return give(*reading_, most, as_text);
    }
}

py::tuple PyReader::give(Reading& reading, std::size_t most, bool as_text) {
    const Records& records = *reading.records;
    const std::size_t begin = reading.given;
    const std::size_t count = std::min(most, records.values.size() - begin);
    std::string prefix;
    std::uint64_t first = 0;
    if (count > 0) {
        prefix = records.keys[begin];
        const std::size_t digits = prefix.find_last_not_of("0123456789") + 1;
        first = std::stoull(prefix.substr(digits));
        prefix.resize(digits);
    }
    if (reading.reader)
        if (std::string type = reading.reader->row_type(); !type.empty()) row_type_ = std::move(type);
    py::object values = count > 0 ? values_of(*reading.reader, records.values, begin, count, as_text)
                                  : py::object(py::list());
    py::tuple given = py::make_tuple(to_str(prefix), first, count, std::move(values));
    produced_ += count;
    reading.given += count;
    if (reading.given == records.values.size()) reading.records.reset();
    return given;
}

void PyReader::leave() {
    if (!process_.is()) return;
    interruptibly([reading = reading_] {
        const std::lock_guard only(reading->mutex);
        if (!reading->queue || !PySlices::is_ending(reading->queue)) return;
        reading->records.reset();
        reading->wrong = nullptr;
        reading->reader.reset();
        reading->queue.reset();
    });
}

void bind_slice_reader(py::module_& module) {
    py::class_<PyReader>(module, "Reader")
        .def(py::init<std::string, std::uint64_t>())
        .def("open", [](PyReader& reader, const PySlices& slices,
                        const py::tuple& slice) { reader.open(slices, to_slice(slice)); })
        .def("read", &PyReader::read)
        .def("leave", &PyReader::leave)
        .def_property_readonly("produced", &PyReader::produced)
        .def_property_readonly("row_type", &PyReader::row_type);
}

}  // namespace wq::bindings::python
