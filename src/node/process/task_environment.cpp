#include "node/process/task_environment.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "node/machine/launch_variables.h"
#include "node/process/path_lookup.h"

namespace wq::node::process {

namespace {

constexpr std::string_view file_name = "/work_queue_hosts.";

std::string written(const std::string& path, const std::string& line) {
    std::ofstream file(path);
    file << line << '\n';
    file.close();
    return file ? path : std::string();
}

}  // namespace

const HostFiles::Paths& HostFiles::of(std::int64_t slots) {
    const auto [place, is_new] = paths_.try_emplace(slots);
    if (!is_new || folder_.empty()) return place->second;
    utsname names{};
    uname(&names);
    const std::string host = names.nodename;
    const std::string number = std::to_string(slots);
    const std::string path = folder_ + std::string(file_name) + number;
    place->second = {written(path, host + " slots=" + number), written(path + ".hydra", host + ":" + number)};
    return place->second;
}

bool HostFiles::made(std::string_view path) {
    return path.find(file_name) != std::string_view::npos;
}

namespace {

std::string_view name_in(std::string_view entry) {
    return entry.substr(0, entry.find('='));
}

constexpr std::string_view of_the_launcher[] = {"WORK_QUEUE_JOB",  // the worker's
                                                "WORK_QUEUE_TASK_ID", "WORK_QUEUE_ATTEMPT"};

// Lists of hosts and counts of the job or step in which the launcher runs. srun reads some as options.
constexpr std::string_view of_the_batch_system[] = {
    "PBS_NODEFILE", "PE_HOSTFILE",  "SLURM_JOB_NODELIST",    "SLURM_NNODES", "SLURM_NODELIST",
    "SLURM_NPROCS", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_PROCID", "SLURM_TASKS_PER_NODE"};
constexpr std::string_view of_a_step = "SLURM_STEP_";
constexpr std::string_view outer_prefix = "WORK_QUEUE_OUTER_";

bool is_renamed(std::string_view name) {
    return name.starts_with(of_a_step) ||
           std::ranges::find(of_the_batch_system, name) != std::end(of_the_batch_system);
}

constexpr std::pair<const char*, const char*> for_open_mpi[] = {
    {"OMPI_MCA_ras", "^slurm,tm,gridengine,lsf"},     {"OMPI_MCA_plm", "^slurm,tm,lsf"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},  // the task is bound already
    {"PRTE_MCA_ras", "^slurm,pbs,tm,gridengine,lsf"}, {"PRTE_MCA_plm", "^slurm,pbs,tm,lsf"},
    {"PRTE_MCA_hwloc_default_binding_policy", "none"}};
constexpr std::pair<const char*, const char*> for_mpich[] = {{"HYDRA_LAUNCHER", "fork"},
                                                             {"HYDRA_RMK", "user"}};
constexpr std::string_view of_mpich = "HYDRA_";

// A task within a task inherits ours.
bool is_users_for_mpich(const std::string& entry) {
    return entry.starts_with(of_mpich) && std::ranges::none_of(for_mpich, [&](const auto& ours) {
               return entry == std::string(ours.first) + "=" + ours.second;
           });
}

}  // namespace

BaseEnvironment::BaseEnvironment(char* const* inherited, const Variables& set) {
    for (const auto& [name, value] : set) {
        fixed_.push_back(name);
        entries_.push_back(name + "=" + value);
    }
    const machine::LaunchVariables launch(inherited);
    std::vector<std::string_view> kept;
    for (char* const* entry = inherited; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view name = name_in(*entry);
        const bool of_launcher = std::ranges::find(of_the_launcher, name) != std::end(of_the_launcher);
        if (!of_launcher && !launch.has(name) && !fixes(name)) kept.emplace_back(*entry);
    }
    const std::string as_they_are = std::string(batch_environment_variable) + "=" + batch_environment_kept;
    const bool renames = std::ranges::find(kept, as_they_are) == kept.end() &&
                         std::ranges::find(entries_, as_they_are) == entries_.end();
    for (const std::string_view entry : kept) add(entry, renames);
    if (renames) set_for_mpi();
}

void BaseEnvironment::add(std::string_view entry, bool renames) {
    const std::string name(name_in(entry));
    const std::string value(entry.substr(std::min(name.size() + 1, entry.size())));
    const bool of_outer_task =
        std::ranges::find(host_file_variables, name) != host_file_variables.end() && HostFiles::made(value);
    if (of_outer_task) return;
    if (!renames || !is_renamed(name)) return static_cast<void>(entries_.emplace_back(entry));
    const std::string renamed = std::string(outer_prefix) + name;
    entries_.push_back(renamed + "=" + value);
    as_batch_system_.emplace_back(name, value);
    as_batch_system_.emplace_back(renamed, std::nullopt);
}

void BaseEnvironment::set_for_mpi() {
    const bool mpich_is_set = std::ranges::any_of(entries_, is_users_for_mpich);
    for (const auto& [name, value] : for_open_mpi) set_default(name, value);
    // A step that srun starts in a task would wait for the cores that the run holds.
    if (has("SLURM_JOB_ID")) set_default("SLURM_OVERLAP", "1");
    // Without a program to reach other nodes, mpirun of Open MPI 4 does not even start ranks on this one.
    const auto is_there = [path = value("PATH")](const char* program) {
        return !PathLookup::search(path, program).file.empty();
    };
    if (!is_there("ssh") && !is_there("rsh")) set_default("OMPI_MCA_plm_rsh_agent", "");
    if (!mpich_is_set)
        for (const auto& [name, value] : for_mpich) set_default(name, value);
    for (const char* const name : host_file_variables)
        if (!has(name) && !(mpich_is_set && std::string_view(name).starts_with(of_mpich)))
            as_batch_system_.emplace_back(name, std::nullopt);
}

void BaseEnvironment::set_default(const std::string& name, const std::string& value) {
    if (has(name)) return;
    entries_.push_back(name + "=" + value);
    as_batch_system_.emplace_back(name, std::nullopt);
}

bool BaseEnvironment::has(std::string_view name) const {
    return std::ranges::any_of(entries_, [&](const std::string& entry) { return name_in(entry) == name; });
}

bool BaseEnvironment::names_hosts(std::string_view variable) const {
    return std::ranges::any_of(as_batch_system_,
                               [&](const auto& change) { return change.first == variable; });
}

bool BaseEnvironment::fixes(std::string_view name) const {
    return std::find(fixed_.begin(), fixed_.end(), name) != fixed_.end();
}

std::string BaseEnvironment::value(std::string_view name) const {
    for (const std::string& entry : entries_)
        if (name_in(entry) == name) return entry.substr(name.size() + 1);
    return {};
}

TaskEnvironment::TaskEnvironment(const BaseEnvironment& base, const std::string& temporary,
                                 const std::string& gpu_variable, HostFiles& hosts)
    : hosts_(hosts), gpus_managed_(!gpu_variable.empty()) {
    constexpr std::array<const char*, slot_count> names{"WORK_QUEUE_TASK_ID",
                                                        "WORK_QUEUE_ATTEMPT",
                                                        "CORES",
                                                        "CORES_LIST",
                                                        thread_variables[0],
                                                        thread_variables[1],
                                                        thread_variables[2],
                                                        thread_variables[3],
                                                        thread_variables[4],
                                                        "MEMORY",
                                                        "DISK",
                                                        "GPUS",
                                                        "GPUS_LIST",
                                                        "",
                                                        gpu_order_variable,
                                                        "TMPDIR",
                                                        host_file_variables[0],
                                                        host_file_variables[1],
                                                        host_file_variables[2]};
    for (std::size_t i = 0; i < slot_count; ++i) slots_[i].name = names[i];
    slots_[visible].name = gpu_variable;
    slots_[visible].used = gpus_managed_;
    slots_[cuda_order].used = gpu_variable == "CUDA_VISIBLE_DEVICES";
    slots_[temporary_folder].used = !temporary.empty();
    for (const Index hosts_of : {open_mpi_hosts, prrte_hosts, hydra_hosts})
        slots_[hosts_of].used = base.names_hosts(slots_[hosts_of].name);
    for (Slot& slot : slots_) slot.used = slot.used && !base.fixes(slot.name);

    for (const std::string& entry : base.entries()) {
        const auto shadows = [&](const Slot& slot) { return slot.used && slot.name == name_in(entry); };
        if (std::none_of(slots_.begin(), slots_.end(), shadows)) base_.push_back(entry);
    }
    set(cuda_order, gpu_order);
    set(temporary_folder, temporary);
}

void TaskEnvironment::set(Index slot, std::string_view value) {
    std::string& entry = slots_[slot].entry;
    entry.assign(slots_[slot].name);
    entry += '=';
    entry += value;
}

void TaskEnvironment::set_path(Index slot, const std::string& path) {
    set(slot, path);
    if (path.empty()) slots_[slot].entry.clear();
}

// 0 means no limit, but a task would read it as having none of the resource, so the variable is not set.
void TaskEnvironment::set_amount(Index slot, std::int64_t amount) {
    if (amount > 0)
        set(slot, std::to_string(amount));
    else
        slots_[slot].entry.clear();
}

void TaskEnvironment::update(const TaskFacts& facts) {
    set(task_id, std::to_string(facts.task.value()));
    set(attempt_number, std::to_string(facts.attempt));
    set_amount(memory, facts.give.memory_mb);
    set_amount(disk, facts.give.disk_mb);
    set(gpus, format_count_with_fraction(facts.give.gpus));
    set(gpu_list, facts.visible_gpus);
    set(visible, facts.visible_gpus);
    set(core_list, facts.cores_list);
    if (facts.give.cores == last_cores_) return;
    last_cores_ = facts.give.cores;
    set(cores, format_count_with_fraction(facts.give.cores));
    // A task without cores (GPUs only) still runs one thread, not one per core of the node.
    const std::int64_t whole = std::max<std::int64_t>(1, facts.give.cores.rounded_up());
    const std::string threads = std::to_string(whole);
    for (const Index slot : {omp, openblas, mkl, numexpr, veclib}) set(slot, threads);
    const HostFiles::Paths& files = hosts_.of(whole);
    set_path(open_mpi_hosts, files.open_mpi);
    set_path(prrte_hosts, files.open_mpi);
    set_path(hydra_hosts, files.hydra);
}

char* const* TaskEnvironment::prepare(const TaskFacts& facts, const EnvironmentChanges& variables) {
    update(facts);
    std::size_t at = 0;
    pointers_.resize(slot_count + base_.size() + 1);
    for (Slot& slot : slots_)
        if (slot.used && !slot.entry.empty()) pointers_[at++] = slot.entry.data();
    for (std::string& entry : base_) pointers_[at++] = entry.data();
    pointers_[at] = nullptr;
    if (variables.empty()) return pointers_.data();

    extra_.clear();
    for (const auto& [name, value] : variables)
        if (value) extra_.push_back(name + "=" + *value);
    extra_pointers_.clear();
    for (std::string& entry : extra_) extra_pointers_.push_back(entry.data());
    for (std::size_t i = 0; i < at; ++i) {
        const auto same = [&](const auto& variable) { return variable.first == name_in(pointers_[i]); };
        if (std::none_of(variables.begin(), variables.end(), same)) extra_pointers_.push_back(pointers_[i]);
    }
    extra_pointers_.push_back(nullptr);
    return extra_pointers_.data();
}

std::vector<std::string> TaskEnvironment::differences(const TaskFacts& facts,
                                                      const EnvironmentChanges& variables) {
    update(facts);
    std::vector<std::string> entries;
    for (const Slot& slot : slots_)
        if (slot.used && !slot.entry.empty()) entries.push_back(slot.entry);
    for (const auto& [name, value] : variables)
        if (value) entries.push_back(name + "=" + *value);
    return entries;
}

}  // namespace wq::node::process
