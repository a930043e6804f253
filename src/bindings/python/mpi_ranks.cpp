// Python's Ranks are made of this; only the module _core_mpi has them, because they need MPI's library.
#include <pybind11/stl.h>
#include <unistd.h>

#include "api/session_parts.h"
#include "bindings/python/queue.h"
#include "bindings/python/slices.h"
#include "bindings/python/text.h"

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

// Around code that may fork: Python takes its locks before, and this process, parent or child, releases them.
class MayFork {
  public:
    MayFork() { PyOS_BeforeFork(); }
    ~MayFork() { forked() ? PyOS_AfterFork_Child() : PyOS_AfterFork_Parent(); }
    MayFork(const MayFork&) = delete;

    bool forked() const { return ::getpid() != before_; }

  private:
    const pid_t before_ = ::getpid();
};

bool has_threads() {
    return py::module_::import("threading").attr("active_count")().cast<int>() > 1;
}

// The session forks the process that mpirun waits for; the program goes on in the child, without the threads
// that it had.
std::unique_ptr<PyRanks> make_ranks(bool manager_only, const Text& launcher) {
    MpiOptions options;
    options.manager_only = manager_only;
    options.launcher = launcher;
    const bool had_threads = has_threads();
    std::shared_ptr<MpiSession> session;
    bool forked = false;
    {
        const MayFork forks;
        session = std::make_shared<MpiSession>(options);
        forked = forks.forked();
    }
    if (forked && had_threads) throw std::runtime_error("begin the ranks before the program's threads");
    return std::make_unique<PyRanks>(std::move(session));
}

int serve(PyRanks& ranks) {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it lives while another thread replaces it
    const std::shared_ptr<MpiSession> session = ranks.session();
    const py::gil_scoped_release others_run;
    return session->serve();
}

// What the program's function raises on one rank, all raise: as a line.
void shorten_errors(SliceOptions& options) {
    if (!options.records) return;
    options.records = [count = std::move(options.records)](const std::string& work) {
        std::string raised;
        try {
            return count(work);
        } catch (const py::error_already_set& error) {
            raised = error.what();
        }
        throw std::runtime_error(raised.substr(0, raised.find("\n\nAt:")));
    };
}

// Collective.
std::unique_ptr<PySlices> open_slices_of_ranks(const PyRanks& ranks, const std::vector<Text>& works,
                                               SliceOptions options) {
    shorten_errors(options);
    std::vector<std::string> names(works.begin(), works.end());
    return std::make_unique<PySlices>(
        interruptibly([session = ranks.session(), names = std::move(names), options] {
            return PySlices::share(std::make_unique<SliceQueue>(*session, names, options), session);
        }));
}

}  // namespace

void bind_ranks(py::module_& module) {
    py::class_<PyRanks>(module, "Ranks")
        .def(py::init(&make_ranks), py::arg("manager_only"), py::arg("launcher"))
        .def_property_readonly("rank", [](PyRanks& r) { return r.session()->rank(); })
        .def_property_readonly("size", [](PyRanks& r) { return r.session()->size(); })
        .def_property_readonly("_is_free",
                               [](PyRanks& r) { return r.usable() && !r.session()->parts().has_manager; })
        .def("_serve", serve)
        .def("_open_slices", open_slices_of_ranks)
        .def("_abort", [](PyRanks& r, int exit_code) { r.session()->abort_job(exit_code); })
        .def("_end", &PyRanks::end);
}

}  // namespace wq::bindings::python
