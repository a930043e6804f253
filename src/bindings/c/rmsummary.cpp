#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bindings/c/guard.h"
#include "bindings/c/task_box.h"

namespace wq::bindings::c {

namespace {

struct Number {
    const char* name;
    double rmsummary::*value;
    const char* unit;
};

constexpr std::array numbers{
    Number{"start", &rmsummary::start, "s"},
    Number{"end", &rmsummary::end, "s"},
    Number{"wall_time", &rmsummary::wall_time, "s"},
    Number{"cpu_time", &rmsummary::cpu_time, "s"},
    Number{"memory", &rmsummary::memory, "MB"},
    Number{"virtual_memory", &rmsummary::virtual_memory, "MB"},
    Number{"swap_memory", &rmsummary::swap_memory, "MB"},
    Number{"disk", &rmsummary::disk, "MB"},
    Number{"bytes_read", &rmsummary::bytes_read, "MB"},
    Number{"bytes_written", &rmsummary::bytes_written, "MB"},
    Number{"bytes_received", &rmsummary::bytes_received, "MB"},
    Number{"bytes_sent", &rmsummary::bytes_sent, "MB"},
    Number{"bandwidth", &rmsummary::bandwidth, "Mbps"},
    Number{"gpus", &rmsummary::gpus, "gpus"},
    Number{"cores", &rmsummary::cores, "cores"},
    Number{"cores_avg", &rmsummary::cores_avg, "cores"},
    Number{"machine_cpus", &rmsummary::machine_cpus, "cores"},
    Number{"machine_load", &rmsummary::machine_load, "procs"},
    Number{"context_switches", &rmsummary::context_switches, "switches"},
    Number{"max_concurrent_processes", &rmsummary::max_concurrent_processes, "procs"},
    Number{"total_processes", &rmsummary::total_processes, "procs"},
    Number{"total_files", &rmsummary::total_files, "files"},
    Number{"fs_nodes", &rmsummary::fs_nodes, "nodes"},
    Number{"workers", &rmsummary::workers, "workers"},
};

constexpr auto names = [] {
    std::array<const char*, numbers.size()> all{};
    for (std::size_t i = 0; i < numbers.size(); ++i) all[i] = numbers[i].name;
    return all;
}();

const Number* find(const char* function, const char* name) {
    for (const Number& number : numbers)
        if (name != nullptr && std::strcmp(name, number.name) == 0) return &number;
    complain(function, name == nullptr ? std::string("the name is NULL")
                                       : "unknown resource '" + std::string(name) + "'");
    return nullptr;
}

char* copy_of(const char* text) {
    return text == nullptr ? nullptr : ::strdup(text);
}

// Joins two summaries, number by number.
template <class Join>
void merge(const char* function, rmsummary* into, const rmsummary* from, const Join& join) {
    if (into == nullptr || from == nullptr) return complain(function, "the summary is NULL");
    for (const Number& number : numbers) into->*number.value = join(into->*number.value, from->*number.value);
}

}  // namespace

rmsummary blank_summary(double value) {
    rmsummary blank{};
    for (const Number& number : numbers) blank.*number.value = value;
    return blank;
}

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

rmsummary* rmsummary_create(double default_value) {
    auto* s = static_cast<rmsummary*>(std::malloc(sizeof(rmsummary)));
    if (s != nullptr) *s = blank_summary(default_value);
    return s;
}

void rmsummary_delete(rmsummary* s) {
    if (s == nullptr) return;
    for (char* text : {s->category, s->command, s->taskid, s->exit_type, s->snapshot_name}) std::free(text);
    rmsummary_delete(s->limits_exceeded);
    rmsummary_delete(s->peak_times);
    for (std::size_t i = 0; s->snapshots != nullptr && i < s->snapshots_count; ++i)
        rmsummary_delete(s->snapshots[i]);
    std::free(s->snapshots);
    std::free(s);
}

rmsummary* rmsummary_copy(const rmsummary* s, int deep_copy) {
    if (s == nullptr) return nullptr;
    rmsummary* copy = rmsummary_create(-1);
    if (copy == nullptr) return nullptr;
    *copy = *s;
    for (char* rmsummary::*text : {&rmsummary::category, &rmsummary::command, &rmsummary::taskid,
                                   &rmsummary::exit_type, &rmsummary::snapshot_name})
        copy->*text = copy_of(s->*text);
    copy->limits_exceeded = copy->peak_times = nullptr;
    copy->snapshots = nullptr;
    copy->snapshots_count = 0;
    if (deep_copy == 0) return copy;
    copy->limits_exceeded = rmsummary_copy(s->limits_exceeded, 1);
    copy->peak_times = rmsummary_copy(s->peak_times, 1);
    if (s->snapshots_count == 0 || s->snapshots == nullptr) return copy;
    copy->snapshots = static_cast<rmsummary**>(std::calloc(s->snapshots_count, sizeof(rmsummary*)));
    if (copy->snapshots == nullptr) return copy;
    copy->snapshots_count = s->snapshots_count;
    for (std::size_t i = 0; i < s->snapshots_count; ++i)
        copy->snapshots[i] = rmsummary_copy(s->snapshots[i], 1);
    return copy;
}

double rmsummary_get(const rmsummary* s, const char* resource) {
    return guarded(__func__, -1.0, [&](const char* me) {
        if (s == nullptr) return refuse(me, "the summary is NULL", -1.0);
        const Number* number = find(me, resource);
        return number == nullptr ? -1.0 : s->*number->value;
    });
}

int rmsummary_set(rmsummary* s, const char* resource, double value) {
    return guarded(__func__, 0, [&](const char* me) {
        if (s == nullptr) return refuse(me, "the summary is NULL", 0);
        const Number* number = find(me, resource);
        if (number == nullptr) return 0;
        s->*number->value = value;
        return 1;
    });
}

void rmsummary_merge_override(rmsummary* dest, const rmsummary* src) {
    merge(__func__, dest, src, [](double had, double gets) { return gets < 0 ? had : gets; });
}
void rmsummary_merge_max(rmsummary* dest, const rmsummary* src) {
    merge(__func__, dest, src, [](double had, double gets) { return std::max(had, gets); });
}
void rmsummary_merge_min(rmsummary* dest, const rmsummary* src) {
    merge(__func__, dest, src, [](double had, double gets) {
        return had < 0 ? gets : gets < 0 ? had : std::min(had, gets);
    });
}
void rmsummary_add(rmsummary* dest, const rmsummary* src) {
    merge(__func__, dest, src,
          [](double had, double gets) { return gets < 0 ? had : std::max(had, 0.0) + gets; });
}

std::size_t rmsummary_num_resources(void) {
    return names.size();
}
const char** rmsummary_list_resources(void) {
    static auto all = names;
    return all.data();
}
const char* rmsummary_resource_units(const char* resource) {
    return guarded(__func__, static_cast<const char*>(nullptr), [&](const char* me) {
        const Number* number = find(me, resource);
        return number == nullptr ? nullptr : number->unit;
    });
}
