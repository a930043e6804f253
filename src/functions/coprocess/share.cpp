#include "functions/coprocess/share.h"

#include <algorithm>

#include "base/units.h"
#include "node/process/process_tree.h"

namespace wq::functions::coprocess {

namespace {

constexpr Duration least_time = std::chrono::seconds(1);
constexpr std::int64_t noise = 100;  // thousandths of a core
// Of a sample: a folder with a million files is walked in many.
constexpr std::int64_t entries_a_sample = 2000;
constexpr Duration time_a_sample = std::chrono::milliseconds(5);

std::int64_t mb_of_kb(std::int64_t kb) {
    return (kb + 1023) / 1024;
}

}  // namespace

engine::model::Resources equal_share(const engine::model::Resources& total, std::int64_t count) {
    const auto part = [&](std::int64_t all) { return all <= 0 ? 0 : std::max<std::int64_t>(all / count, 1); };
    return {Count::of_thousandths(part(total.cores.thousandths())), part(total.memory_mb),
            part(total.disk_mb), Count::of_thousandths(part(total.gpus.thousandths())), 1};
}

void ShareWatch::begin_call(std::int64_t memory_mb, const std::string& sandbox) {
    task_memory_mb_ = memory_mb;
    usage_ = {};
    take_sandbox(sandbox);
}

void ShareWatch::end_call() {
    task_memory_mb_ = 0;
    take_sandbox("");
}

// A walk goes on over calls, unless it is one over other folders.
void ShareWatch::take_sandbox(const std::string& sandbox) {
    if (sandbox == sandbox_) return;
    sandbox_ = sandbox;
    walk_.reset();
}

std::optional<Excess> ShareWatch::sample(pid_t root, Instant now, bool starts) {
    reader_.begin_pass();
    processes_ = reader_.tree({root}, processes_);
    if (auto more = memory(root)) return more;
    std::int64_t cpu_us = 0;
    for (const node::usage::ProcessSample& process : processes_) cpu_us += process.cpu_us;
    if (!starts)
        if (auto more = judge_cpu(cpu_us, now)) return more;
    return disk(now);
}

// Children that ended meanwhile are in the CPU time of the parents that waited for them; of those that nobody
// waited for, nothing is known.
std::optional<Excess> ShareWatch::judge_cpu(std::int64_t cpu_us, Instant now) {
    if (!cores_since_ || cpu_us < cpu_before_us_) {
        cores_since_ = now;
        cpu_before_us_ = cpu_us;
        return std::nullopt;
    }
    const Duration time = now - *cores_since_;
    if (time < least_time) return std::nullopt;
    const std::int64_t used = (cpu_us - cpu_before_us_) * 1000 / (time / std::chrono::microseconds(1));
    cores_since_ = now;
    cpu_before_us_ = cpu_us;
    usage_.cores = std::max(usage_.cores, used);
    const std::int64_t most = std::max<std::int64_t>(share_.cores.thousandths(), 1000);
    if (share_.cores == 0 || used <= most + noise) return std::nullopt;
    Excess more =
        excess(engine::model::Ending::exhausted,
               "its coprocess used " + format_count_with_fraction(Count::of_thousandths(used)) +
                   " cores, its limit is " + format_count_with_fraction(Count::of_thousandths(most)));
    more.measured.exceeded.cores = most;
    return more;
}

// Proportional memory costs a walk over all mappings, so it is read only if the plain sum is too large.
std::optional<Excess> ShareWatch::memory(pid_t root) {
    std::int64_t kb = 0;
    for (const node::usage::ProcessSample& process : processes_)
        if (process.pid != root) kb += process.resident_kb;
    std::int64_t most = share_.memory_mb;
    if (task_memory_mb_ > 0 && (most == 0 || task_memory_mb_ < most)) most = task_memory_mb_;
    if (most > 0 && mb_of_kb(kb) > most) {
        kb = 0;
        for (const node::usage::ProcessSample& process : processes_)
            if (process.pid != root) kb += node::process::proportional_kb(process.pid);
    }
    usage_.memory = std::max(usage_.memory, mb_of_kb(kb));
    if (most == 0 || mb_of_kb(kb) <= most) return std::nullopt;
    Excess more = excess(engine::model::Ending::out_of_memory,
                         "its coprocess used " + std::to_string(mb_of_kb(kb)) + " MB memory, " +
                             (most != share_.memory_mb ? "its limit" : "its share") + " is " +
                             std::to_string(most) + " MB");
    more.measured.exceeded.memory_mb = most;
    return more;
}

std::optional<Excess> ShareWatch::disk(Instant now) {
    if (share_.disk_mb == 0) return std::nullopt;
    if (!walk_) {
        std::vector<std::string> folders{folder_};
        if (!sandbox_.empty()) folders.push_back(sandbox_);
        walk_.emplace(std::move(folders));
    }
    if (!walk_->go_on(entries_a_sample, now + time_a_sample)) return std::nullopt;
    const std::int64_t mb = (walk_->found().bytes + (1 << 20) - 1) >> 20;
    walk_.reset();
    usage_.disk = std::max(usage_.disk, mb);
    if (mb <= share_.disk_mb) return std::nullopt;
    Excess more = excess(engine::model::Ending::exhausted, "its coprocess used " + std::to_string(mb) +
                                                               " MB disk, its share is " +
                                                               std::to_string(share_.disk_mb) + " MB");
    more.measured.exceeded.disk_mb = share_.disk_mb;
    return more;
}

Excess ShareWatch::excess(engine::model::Ending ending, const std::string& reason) const {
    return {ending, reason, {usage_, {}}};
}

}  // namespace wq::functions::coprocess
