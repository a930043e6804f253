// Python's JobExecutor2 is made of this; work_queue/job_executor.py has its names and defaults.
//
// Workers cannot be forked from a program of Python, which may have threads. So a fresh interpreter is
// started, which has the function and forks them (serve_jobs()).
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <memory>
#include <sstream>
#include <stdexcept>

#include "bindings/python/callback.h"
#include "bindings/python/job_values.h"
#include "bindings/python/text.h"
#include "bindings/python/waits.h"
#include "functions/pool/executor.h"
#include "functions/pool/zygote.h"

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

// handler(pickled, buffers, context) returns (pickled, buffers), or (None, why there is no result).
Batch run_python(void* callable, Batch&& in, const JobContext& context) {
    const py::gil_scoped_acquire python;
    try {
        const py::tuple values = from_batch(std::move(in));
        const py::object& handler = *static_cast<py::object*>(callable);
        const py::tuple out = handler(values[0], values[1], context);
        if (out[0].is_none()) throw std::runtime_error(out[1].cast<Text>().bytes);
        return to_batch(out[0], out[1], true);
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
        Batch batch = to_batch(pickled, buffers, false);
        return without_lock([&] { return executor_->put(batch); });
    }
    py::object take(double seconds) {
        bool ended = false;
        auto result = in_parts(seconds, ended, [this](auto limit) { return executor_->take(limit); });
        return result ? to_python(std::move(*result)) : py::none();
    }
    // The result of a job that failed, if one is here; before others.
    py::object take_failure() {
        auto result = without_lock([this] { return executor_->take_failure(); });
        return result ? to_python(std::move(*result)) : py::none();
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
    static py::object to_python(JobResult<Batch> result) {
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
