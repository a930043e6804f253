// Statistics of a queue, with all names of the manual.
#include "work_queue/statistics.h"

#include "python/queue.h"
#include "python/text.h"

namespace py = pybind11;

namespace wq::python {

void bind_statistics(py::module_& module) {
    py::class_<Statistics>(module, "Statistics")
        .def(py::init<>())
        .def_readonly("time_when_started", &Statistics::time_when_started)
        .def_readonly("workers_connected", &Statistics::workers_connected)
        .def_readonly("workers_init", &Statistics::workers_init)
        .def_readonly("workers_idle", &Statistics::workers_idle)
        .def_readonly("workers_busy", &Statistics::workers_busy)
        .def_readonly("workers_able", &Statistics::workers_able)
        .def_readonly("workers_joined", &Statistics::workers_joined)
        .def_readonly("workers_removed", &Statistics::workers_removed)
        .def_readonly("workers_released", &Statistics::workers_released)
        .def_readonly("workers_idled_out", &Statistics::workers_idled_out)
        .def_readonly("workers_fast_aborted", &Statistics::workers_fast_aborted)
        .def_readonly("workers_blocked", &Statistics::workers_blocked)
        .def_readonly("workers_lost", &Statistics::workers_lost)
        .def_readonly("tasks_waiting", &Statistics::tasks_waiting)
        .def_readonly("tasks_on_workers", &Statistics::tasks_on_workers)
        .def_readonly("tasks_running", &Statistics::tasks_running)
        .def_readonly("tasks_with_results", &Statistics::tasks_with_results)
        .def_readonly("tasks_submitted", &Statistics::tasks_submitted)
        .def_readonly("tasks_dispatched", &Statistics::tasks_dispatched)
        .def_readonly("tasks_done", &Statistics::tasks_done)
        .def_readonly("tasks_failed", &Statistics::tasks_failed)
        .def_readonly("tasks_cancelled", &Statistics::tasks_cancelled)
        .def_readonly("tasks_exhausted_attempts", &Statistics::tasks_exhausted_attempts)
        .def_readonly("time_send", &Statistics::time_send)
        .def_readonly("time_receive", &Statistics::time_receive)
        .def_readonly("time_send_good", &Statistics::time_send_good)
        .def_readonly("time_receive_good", &Statistics::time_receive_good)
        .def_readonly("time_status_msgs", &Statistics::time_status_msgs)
        .def_readonly("time_internal", &Statistics::time_internal)
        .def_readonly("time_polling", &Statistics::time_polling)
        .def_readonly("time_application", &Statistics::time_application)
        .def_readonly("time_execute", &Statistics::time_execute)
        .def_readonly("time_execute_good", &Statistics::time_execute_good)
        .def_readonly("time_execute_exhaustion", &Statistics::time_execute_exhaustion)
        .def_readonly("bytes_sent", &Statistics::bytes_sent)
        .def_readonly("bytes_received", &Statistics::bytes_received)
        .def_readonly("bandwidth", &Statistics::bandwidth)
        .def_readonly("capacity_tasks", &Statistics::capacity_tasks)
        .def_readonly("capacity_cores", &Statistics::capacity_cores)
        .def_readonly("capacity_memory", &Statistics::capacity_memory)
        .def_readonly("capacity_disk", &Statistics::capacity_disk)
        .def_readonly("capacity_instantaneous", &Statistics::capacity_instantaneous)
        .def_readonly("capacity_weighted", &Statistics::capacity_weighted)
        .def_readonly("manager_load", &Statistics::manager_load)
        .def_readonly("total_cores", &Statistics::total_cores)
        .def_readonly("total_memory", &Statistics::total_memory)
        .def_readonly("total_disk", &Statistics::total_disk)
        .def_readonly("committed_cores", &Statistics::committed_cores)
        .def_readonly("committed_memory", &Statistics::committed_memory)
        .def_readonly("committed_disk", &Statistics::committed_disk)
        .def_readonly("max_cores", &Statistics::max_cores)
        .def_readonly("max_memory", &Statistics::max_memory)
        .def_readonly("max_disk", &Statistics::max_disk)
        .def_readonly("min_cores", &Statistics::min_cores)
        .def_readonly("min_memory", &Statistics::min_memory)
        .def_readonly("min_disk", &Statistics::min_disk)
        .def_readonly("workers_blacklisted", &Statistics::workers_blacklisted)
        .def_readonly("time_workers_execute", &Statistics::time_workers_execute)
        .def_readonly("time_workers_execute_good", &Statistics::time_workers_execute_good)
        .def_readonly("time_workers_execute_exhaustion", &Statistics::time_workers_execute_exhaustion)
        .def_readonly("tasks_lost_attempts", &Statistics::tasks_lost_attempts)
        .def_readonly("hosts_blocked", &Statistics::hosts_blocked)
        .def_readonly("tasks_copied_attempts", &Statistics::tasks_copied_attempts)
        .def_readonly("workers_wanted", &Statistics::workers_wanted)
        .def_readonly("workers_pending", &Statistics::workers_pending)
        .def("_update", [](Statistics& to, PyQueue& q) { to = q.serving().stats(); })
        .def("_update_category",
             [](Statistics& to, PyQueue& q, const Text& name) { to = q.serving().stats_category(name); });
}

}  // namespace wq::python
