// Files that name this node with as many slots as a task has cores. mpirun reads one of them in place of the
// batch system's list of nodes. There is one pair for each number of cores, made when a task first needs it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment_changes.h"
#include "base/ids.h"
#include "engine/model/resources.h"

namespace wq::node::process {

class HostFiles {
  public:
    explicit HostFiles(std::string folder) : folder_(std::move(folder)) {}  // empty: there are no files

    struct Paths {
        std::string open_mpi;  // also for PRRTE; "HOST slots=N"
        std::string hydra;     // MPICH's; "HOST:N"
    };
    // Empty paths: the files cannot be written.
    const Paths& of(std::int64_t slots);
    // Whether a path is that of such a file: a task within a task inherits one.
    static bool made(std::string_view path);

  private:
    std::string folder_;
    std::map<std::int64_t, Paths> paths_;
};

// The environment of a lane's tasks. It is built once; each task changes a few entries.

// In the environment of interpreters, and so of the processes that they fork.
inline constexpr const char* interpreter_mark = "WORK_QUEUE_INTERPRETER";
// What names the number of threads that a program should start.
inline constexpr std::array thread_variables{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                             "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"};
// CUDA numbers GPUs as we do only with this order.
inline constexpr const char* gpu_order_variable = "CUDA_DEVICE_ORDER";
inline constexpr const char* gpu_order = "PCI_BUS_ID";

// The folder of a task that does not see the manager's.
inline constexpr const char* sandbox_variable = "WORK_QUEUE_SANDBOX";

// What names the file of the nodes that mpirun of Open MPI 4, Open MPI 5 and MPICH uses.
inline constexpr std::array host_file_variables{"OMPI_MCA_orte_default_hostfile",
                                                "PRTE_MCA_prte_default_hostfile", "HYDRA_HOST_FILE"};

using Variables = std::vector<std::pair<std::string, std::string>>;

// The part that is the same for all tasks of a worker: the launcher's inherited environment, overridden by
// `set`. Variables that make a process a rank, or that belong to the task in which the launcher itself runs,
// are removed. `set` also overrides the variables for a task's resources (a list may fix OMP_NUM_THREADS for
// all its tasks).
//
// mpirun in a task must start its ranks on this node. In a batch job it would use the nodes of the job, and
// wait for the resources that the run itself holds. So the lists and counts of the batch system are renamed,
// and where the user set nothing, mpirun is told not to look for one. The user's MPI settings are kept.
class BaseEnvironment {
  public:
    BaseEnvironment(char* const* inherited, const Variables& set);
    const std::vector<std::string>& entries() const { return entries_; }  // "NAME=value"
    bool fixes(std::string_view name) const;                              // whether `set` has it
    std::string value(std::string_view name) const;                       // empty if absent
    // Whether a task gets this one of the host_file_variables.
    bool names_hosts(std::string_view variable) const;
    // What gives a task the batch system's variables as they are.
    const EnvironmentChanges& as_batch_system() const { return as_batch_system_; }

  private:
    bool has(std::string_view name) const;
    void add(std::string_view entry, bool renames);
    void set_for_mpi();
    void set_default(const std::string& name, const std::string& value);

    std::vector<std::string> entries_;
    std::vector<std::string> fixed_;
    EnvironmentChanges as_batch_system_;
};

struct TaskFacts {
    TaskId task;
    Attempt attempt = 1;
    engine::model::Resources give;
    std::string cores_list;    // "0,4": OS indexes of its cores' units
    std::string visible_gpus;  // "0,2"
};

class TaskEnvironment {
  public:
    // `temporary`: TMPDIR; empty: unchanged. `gpu_variable`: empty if GPUs are not managed.
    // `hosts` must outlive this.
    TaskEnvironment(const BaseEnvironment& base, const std::string& temporary,
                    const std::string& gpu_variable, HostFiles& hosts);

    // For execve; valid until the next call.
    char* const* prepare(const TaskFacts& facts, const EnvironmentChanges& variables);
    // The same, as entries that differ from the base, for a process that already has the base. Variables
    // without a value are not among them.
    std::vector<std::string> differences(const TaskFacts& facts, const EnvironmentChanges& variables);

  private:
    struct Slot {
        std::string name;
        std::string entry;  // empty: the task has no such variable
        bool used = true;
    };
    enum Index : std::size_t {
        task_id,
        attempt_number,
        cores,
        core_list,
        omp,
        openblas,
        mkl,
        numexpr,
        veclib,
        memory,
        disk,
        gpus,
        gpu_list,
        visible,
        cuda_order,
        temporary_folder,
        open_mpi_hosts,
        prrte_hosts,
        hydra_hosts,
        slot_count
    };
    void set(Index slot, std::string_view value);
    void set_path(Index slot, const std::string& path);
    void set_amount(Index slot, std::int64_t amount);
    void update(const TaskFacts& facts);

    HostFiles& hosts_;
    std::array<Slot, slot_count> slots_;
    std::vector<std::string> base_;
    std::vector<char*> pointers_;  // slots in use, base, nullptr
    std::vector<std::string> extra_;
    std::vector<char*> extra_pointers_;
    Count last_cores_ = -1;
    bool gpus_managed_;
};

}  // namespace wq::node::process
