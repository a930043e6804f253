// Python's JobExecutor2 is made of this; work_queue/job_executor.py has its names and defaults.
//
// Workers cannot be forked from a program of Python, which may have threads. So a fresh interpreter is
// started, which has the function and forks them (serve_jobs()).

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/callback.h"
#include "bindings/python/slice_reader.h"
#include "bindings/python/text.h"
#include "bindings/python/waits.h"
#include "functions/pool/executor.h"
#include "functions/pool/storage.h"
#include "functions/pool/zygote.h"
#include "work_queue/batch.h"

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

constexpr std::size_t alone_from = 1 << 20;  // a smaller buffer shares an array with others
constexpr std::size_t most_alone = 200;      // a batch has at most 249 arrays in shared memory
constexpr std::size_t alignment = 64;

// Arrays whose memory objects of Python see, by their first byte.
class SeenArrays {
  public:
    struct Seen {
        std::shared_ptr<Array> array;  // null: there is none
        bool is_ours = false;          // came with a batch, and the program may change it
    };
    static SeenArrays& all() {
        static SeenArrays& all = *new SeenArrays;
        return all;
    }
    std::shared_ptr<Array> see(Array array, bool is_ours) {
        const std::byte* const first = array.bytes().data();
        std::shared_ptr<Array> seen(new Array(std::move(array)), [first](Array* last) {
            all().forget(first);
            delete last;
        });
        const std::lock_guard lock(mutex_);
        if (seen->is_shared()) arrays_[first] = {seen, is_ours};
        return seen;
    }
    // The one that has all these bytes.
    Seen find(const std::byte* first, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        auto after = arrays_.upper_bound(first);
        if (after == arrays_.begin()) return {};
        const Known& known = std::prev(after)->second;
        auto found = known.array.lock();
        if (!found || first + bytes > found->bytes().data() + found->bytes().size()) return {};
        return {std::move(found), known.is_ours};
    }

  private:
    struct Known {
        std::weak_ptr<Array> array;
        bool is_ours = false;
    };
    void forget(const std::byte* first) {
        const std::lock_guard lock(mutex_);
        const auto found = arrays_.find(first);
        if (found != arrays_.end() && found->second.array.expired()) arrays_.erase(found);
    }
    std::mutex mutex_;
    std::map<const std::byte*, Known> arrays_;
};

class Viewed {
  public:
    explicit Viewed(const py::handle& object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw py::error_already_set();
    }
    Viewed(Viewed&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
    Viewed& operator=(Viewed&&) = delete;
    ~Viewed() {
        if (view_.obj != nullptr) PyBuffer_Release(&view_);
    }
    const std::byte* data() const { return static_cast<const std::byte*>(view_.buf); }
    std::size_t size() const { return static_cast<std::size_t>(view_.len); }

  private:
    Py_buffer view_{};
};

struct ArraySpan {
    std::uint64_t array = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

// Where each buffer lies, and the arrays.
class Packer {
  public:
    Packer(const py::list& buffers, bool gives_up) : gives_up_(gives_up) {
        for (const py::handle& buffer : buffers) views_.emplace_back(buffer);
        for (const Viewed& view : views_) place(view);
    }
    Batch batch(std::string pickled) {
        without_lock([this] {
            copy();
            return true;
        });
        Batch batch;
        batch.set("pickled", std::move(pickled));
        batch.set("places", std::string(reinterpret_cast<const char*>(places_.data()),
                                        places_.size() * sizeof(ArraySpan)));
        for (std::size_t at = 0; at < arrays_.size(); ++at)
            batch.set(std::to_string(at), std::move(arrays_[at]));
        return batch;
    }

  private:
    void place(const Viewed& view) {
        if (view.size() >= alone_from && add_as_it_is(view)) return;
        copied_.push_back(places_.size());
        if (view.size() >= alone_from && arrays_.size() < most_alone)
            return add(Array::of<std::uint8_t>({view.size()}), 0, view.size());
        packed_.push_back(places_.size());
        places_.push_back({0, together_, view.size()});
        together_ += (view.size() + alignment - 1) / alignment * alignment;
    }
    bool add_as_it_is(const Viewed& view) {
        const auto seen = SeenArrays::all().find(view.data(), view.size());
        if (!seen.array || (seen.is_ours && !gives_up_)) return false;
        const std::byte* const first = seen.array->bytes().data();
        const auto offset = static_cast<std::uint64_t>(view.data() - first);
        const auto [known, is_new] = as_they_are_.try_emplace(first, arrays_.size());
        if (!is_new) {
            places_.push_back({known->second, offset, view.size()});
        } else if (arrays_.size() < most_alone) {
            add(*seen.array, offset, view.size());
        } else {
            as_they_are_.erase(known);
            return false;
        }
        return true;
    }
    void add(Array array, std::uint64_t offset, std::uint64_t bytes) {
        places_.push_back({arrays_.size(), offset, bytes});
        arrays_.push_back(std::move(array));
    }
    void copy() {
        if (!packed_.empty()) {
            for (const std::size_t one : packed_) places_[one].array = arrays_.size();
            arrays_.push_back(Array::of<std::uint8_t>({together_}));
        }
        for (const std::size_t one : copied_) {
            const ArraySpan& place = places_[one];
            if (place.bytes > 0)
                std::memcpy(arrays_[place.array].mutable_bytes().data() + place.offset, views_[one].data(),
                            place.bytes);
        }
    }

    const bool gives_up_;
    std::vector<Viewed> views_;
    std::vector<ArraySpan> places_;
    std::vector<Array> arrays_;
    std::map<const std::byte*, std::uint64_t> as_they_are_;  // numbers of arrays, by their first bytes
    std::vector<std::size_t> copied_;
    std::vector<std::size_t> packed_;
    std::uint64_t together_ = 0;
};

// Values of Python as batches: what pickle made of them, and their large buffers beside, which go through
// shared memory. Who gets them sees the buffers where they are.

enum class Buffers : std::uint8_t { kept, given_up };

// `buffers`: objects with the buffer protocol, contiguous. One that lies in memory of new_memory(), or in
// memory of from_batch() that others see, too, goes as it is. So does all memory of from_batch() if it is
// given up: nobody here changes it any more. Others are copied. Throws BatchError.
Batch to_batch(const py::bytes& pickled, const py::list& buffers, Buffers are) {
    Packer packer(buffers, are == Buffers::given_up);
    return packer.batch(std::string(pickled));
}

// (pickled, buffers): a buffer is writable if nobody else sees it.
py::tuple from_batch(Batch&& batch) {
    const std::string& places = batch.text("places");
    std::vector<std::shared_ptr<Array>> arrays;
    std::vector<bool> writable;
    for (std::size_t at = 0; batch.has(std::to_string(at)); ++at) {
        Array array = std::move(batch.array(std::to_string(at)));
        const auto& storage = executor::ArrayAccess::storage(array);
        writable.push_back(!storage || (storage.use_count() == 1 && !storage->seen_by_others()));
        arrays.push_back(SeenArrays::all().see(std::move(array), writable.back()));
    }
    py::list buffers;
    for (std::size_t at = 0; at + sizeof(ArraySpan) <= places.size(); at += sizeof(ArraySpan)) {
        ArraySpan place;
        std::memcpy(&place, places.data() + at, sizeof place);
        const std::shared_ptr<Array>& array = arrays.at(place.array);
        auto* const first = const_cast<std::byte*>(array->bytes().data());
        buffers.append(py::cast(Memory{array, first == nullptr ? nullptr : first + place.offset, place.bytes,
                                       writable[place.array]}));
    }
    return py::make_tuple(py::bytes(batch.text("pickled")), buffers);
}

// Of any content. In shared memory if it is large.
Memory new_memory(std::size_t bytes) {
    constexpr bool is_ours = false;
    auto array = SeenArrays::all().see(Array::of<std::uint8_t>({bytes}), is_ours);
    auto* const first = const_cast<std::byte*>(array->bytes().data());
    return {std::move(array), first, bytes, true};
}

// handler(pickled, buffers, context) returns (pickled, buffers), or (None, why there is no result).
Batch run_python(void* callable, Batch&& in, const JobContext& context) {
    const py::gil_scoped_acquire python;
    try {
        const py::tuple values = from_batch(std::move(in));
        const py::object& handler = *static_cast<py::object*>(callable);
        const py::tuple out = handler(values[0], values[1], context);
        if (out[0].is_none()) throw std::runtime_error(out[1].cast<Text>().bytes);
        return to_batch(out[0], out[1], Buffers::given_up);
    } catch (py::error_already_set& error) {
        throw std::runtime_error(error.what());
    }
}

class PyJobs {
  public:
    // `start_process(descriptor)` starts an interpreter that serves jobs there, and returns its pid. Without
    // workers `handler` runs here.
    PyJobs(int workers, const JobExecutorOptions& options, const py::object& start_process,
           const py::object& handler)
        : handler_(std::make_shared<py::object>(handler)) {
        functions::pool::check_options(workers, options);
        functions::pool::ZygoteLink zygote;
        if (workers > 0) zygote = started(start_process);
        executor_ = {new functions::pool::Executor({run_python, handler_.get(), 0}, workers, options,
                                                   std::move(zygote)),
                     end};
    }
    PyJobs(const PyJobs&) = delete;

    void start(double timeout) {
        interruptibly([executor = executor_, limit = seconds(timeout)] { executor->start(limit); });
    }
    void close(double timeout) {
        if (process_.is())
            interruptibly([executor = executor_, limit = seconds(timeout)] { executor->close(limit); });
    }
    void abort() { executor_->abort(); }
    bool is_full() const { return executor_->is_full(); }
    bool has_room() const { return executor_->has_room(); }
    bool is_idle() const {
        return without_lock([this] { return executor_->is_idle(); });
    }
    bool put(const py::bytes& pickled, const py::list& buffers) {
        Batch batch = to_batch(pickled, buffers, Buffers::kept);
        return without_lock([&] { return executor_->put(batch); });
    }
    std::optional<py::tuple> take(double seconds) {
        bool ended = false;
        auto result = in_parts(seconds, ended, [this](auto limit) { return executor_->take(limit); });
        return result ? std::optional(to_python(std::move(*result))) : std::nullopt;
    }
    // The result of a job that failed, if one is here; before others.
    std::optional<py::tuple> take_failure() {
        auto result = without_lock([this] { return executor_->take_failure(); });
        return result ? std::optional(to_python(std::move(*result))) : std::nullopt;
    }
    void reset() {
        without_lock([this] {
            executor_->reset();
            return true;
        });
    }
    std::size_t results_here() const { return process_.is() ? executor_->results_here() : 0; }
    std::size_t most_results() const { return executor_->most_results(); }
    py::str report() const {
        return to_str(without_lock([this] {
            std::ostringstream text;
            executor_->report(text);
            return text.str();
        }));
    }

  private:
    static std::chrono::nanoseconds seconds(double count) {
        constexpr double year = 3e7;
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::duration<double>(std::clamp(count, 0.0, year)));
    }
    // A function that runs here needs Python's lock to end.
    static void end(functions::pool::Executor* last) {
        if (last->is_copy()) return;
        const auto end = [last] {
            delete last;
            return true;
        };
        if (holds_lock_of_python())
            without_lock(end);
        else
            end();
    }
    static functions::pool::ZygoteLink started(const py::object& start_process) {
        pid_t child = -1;
        auto link = functions::pool::ask_for_zygote([&](int socket) -> Status {
            child = start_process(socket).cast<pid_t>();
            return success();
        });
        if (!link) throw SetupError(link.error().message, to_int(link.error().code));
        link->child = child;
        return std::move(*link);
    }
    // (times and numbers, error, pickled, buffers)
    static py::tuple to_python(JobResult<Batch> result) {
        const JobMetadata& facts = result.metadata;
        const auto time = [](JobMetadata::Time when) -> py::object {
            const double count = std::chrono::duration<double>(when.time_since_epoch()).count();
            return count > 0 ? py::object(py::float_(count)) : py::none();
        };
        const py::tuple told = py::make_tuple(facts.job, facts.session, facts.worker, facts.attempt,
                                              time(facts.created), time(facts.begun), time(facts.processed),
                                              time(facts.queued), time(facts.collected));
        if (!result.value) return py::make_tuple(told, to_str(result.error), py::none(), py::none());
        const py::tuple values = from_batch(std::move(*result.value));
        return py::make_tuple(told, py::none(), values[0], values[1]);
    }

    const OfThisProcess process_;
    std::shared_ptr<py::object> handler_;
    std::shared_ptr<functions::pool::Executor> executor_;
};

// Serves the jobs of an executor of another process, until that ends; does not return.
void serve_jobs(int control, py::object handler) {
    static py::object* kept = nullptr;
    kept = new py::object(std::move(handler));
    functions::pool::OwnFunction own;
    own.function = functions::pool::FunctionPlace::of({run_python, kept, 0});
    own.before_fork = PyOS_BeforeFork;
    own.after_fork = [](bool in_child) { in_child ? PyOS_AfterFork_Child() : PyOS_AfterFork_Parent(); };
    own.begin_worker = [] { PyEval_SaveThread(); };  // until a job comes
    functions::pool::started_zygote_main(control, own);
}

void bind_values(py::module_& module) {
    py::class_<JobExecutorOptions>(module, "JobOptions")
        .def(py::init<>())
        .def_readwrite("max_queue_size_per_worker", &JobExecutorOptions::max_queue_size_per_worker)
        .def_readwrite("max_queue_size_pin_thread_per_worker",
                       &JobExecutorOptions::max_queue_size_pin_thread_per_worker)
        .def_readwrite("max_queue_size_pin", &JobExecutorOptions::max_queue_size_pin)
        .def_readwrite("wait_until_processes_start", &JobExecutorOptions::wait_until_processes_start)
        .def_readwrite("restart_crashed_worker", &JobExecutorOptions::restart_crashed_worker)
        .def_readwrite("retries", &JobExecutorOptions::retries)
        .def_readwrite("seed", &JobExecutorOptions::seed);
    py::class_<JobContext>(module, "JobContext")
        .def_readonly("worker", &JobContext::worker)
        .def_readonly("seed", &JobContext::seed)
        .def_readonly("attempt", &JobContext::attempt)
        .def_readonly("session", &JobContext::session)
        .def("stopping", [](const JobContext& context) { return context.stopping(); });
}

}  // namespace

void bind_jobs(py::module_& module) {
    py::register_exception<ExecutorClosed>(module, "ExecutorClosed", PyExc_RuntimeError);
    py::register_exception<BatchError>(module, "BatchError", PyExc_RuntimeError);
    bind_values(module);
    module.def("new_memory", new_memory);
    module.def("serve_jobs", serve_jobs);
    py::class_<PyJobs>(module, "Jobs")
        .def(py::init<int, const JobExecutorOptions&, const py::object&, const py::object&>())
        .def("start", &PyJobs::start)
        .def("close", &PyJobs::close)
        .def("abort", &PyJobs::abort)
        .def("is_full", &PyJobs::is_full)
        .def("has_room", &PyJobs::has_room)
        .def("is_idle", &PyJobs::is_idle)
        .def("put", &PyJobs::put)
        .def("take", &PyJobs::take)
        .def("take_failure", &PyJobs::take_failure)
        .def("reset", &PyJobs::reset)
        .def("results_here", &PyJobs::results_here)
        .def("most_results", &PyJobs::most_results)
        .def("report", &PyJobs::report);
}

}  // namespace wq::bindings::python
