// Python's Ranks are made of this; only the module _core_mpi has them, because they need MPI's library.
#include <pybind11/pybind11.h>
#include <unistd.h>

#include "api/session_parts.h"
#include "python/ranks.h"
#include "python/text.h"

namespace py = pybind11;

namespace wq::python {

namespace {

// Around code that may fork: Python takes its locks before, and this process, parent or child, releases them.
class MayFork {
  public:
    MayFork() { PyOS_BeforeFork(); }
    ~MayFork() { ::getpid() == before_ ? PyOS_AfterFork_Parent() : PyOS_AfterFork_Child(); }
    MayFork(const MayFork&) = delete;

  private:
    const pid_t before_ = ::getpid();
};

// The session forks the process that mpirun waits for; the program goes on in the child.
std::unique_ptr<PyRanks> make_ranks(bool manager_only, const Text& launcher) {
    MpiOptions options;
    options.manager_only = manager_only;
    options.launcher = launcher;
    std::shared_ptr<MpiSession> session;
    {
        const MayFork forks;
        session = std::make_shared<MpiSession>(options);
    }
    return std::make_unique<PyRanks>(std::move(session));
}

int serve(PyRanks& ranks) {
    const std::shared_ptr<MpiSession> session = ranks.session();
    const py::gil_scoped_release others_run;
    return session->serve();
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
        .def("_end", &PyRanks::end);
}

}  // namespace wq::python
