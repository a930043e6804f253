#include "process/task_environment.h"

#include <algorithm>
#include <iterator>

namespace wq::process {

namespace {

std::string_view name_in(std::string_view entry) {
    return entry.substr(0, entry.find('='));
}

constexpr std::string_view of_the_launcher[] = {"OMPI_",
                                                "PMIX_",
                                                "PMI_",
                                                "OPAL_",
                                                "PRTE_",
                                                "MPI_LOCALRANKID",
                                                "WORK_QUEUE_JOB",  // the worker's
                                                "WORK_QUEUE_TASK_ID",
                                                "WORK_QUEUE_ATTEMPT"};
// The user's settings for how MPI communicates. mpirun itself sets
// OMPI_MCA_{ess,initial_wdir,orte,pmix,shmem}*.
constexpr std::string_view of_the_user[] = {
    "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_MCA_btl", "OMPI_MCA_coll",      "OMPI_MCA_io",  "OMPI_MCA_mtl",
    "OMPI_MCA_osc",           "OMPI_MCA_pml", "OMPI_MCA_reachable", "OMPI_MCA_smsc"};

template <std::size_t N>
bool starts_with_any(std::string_view name, const std::string_view (&prefixes)[N]) {
    return std::any_of(std::begin(prefixes), std::end(prefixes),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_inherited(std::string_view name) {
    return !starts_with_any(name, of_the_launcher) || starts_with_any(name, of_the_user);
}

}  // namespace

BaseEnvironment::BaseEnvironment(char* const* inherited, const Variables& set) {
    for (const auto& [name, value] : set) {
        fixed_.push_back(name);
        entries_.push_back(name + "=" + value);
    }
    for (char* const* entry = inherited; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view name = name_in(*entry);
        if (is_inherited(name) && !fixes(name)) entries_.emplace_back(*entry);
    }
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
                                 const std::string& gpu_variable)
    : gpus_managed_(!gpu_variable.empty()) {
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
                                                        "TMPDIR"};
    for (std::size_t i = 0; i < slot_count; ++i) slots_[i].name = names[i];
    slots_[visible].name = gpu_variable;
    slots_[visible].used = gpus_managed_;
    slots_[cuda_order].used = gpu_variable == "CUDA_VISIBLE_DEVICES";
    slots_[temporary_folder].used = !temporary.empty();
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
    const std::string threads = std::to_string(std::max<std::int64_t>(1, facts.give.cores.rounded_up()));
    for (const Index slot : {omp, openblas, mkl, numexpr, veclib}) set(slot, threads);
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

}  // namespace wq::process
