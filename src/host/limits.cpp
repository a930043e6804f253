#include "host/limits.h"

#include <signal.h>

#include <algorithm>

namespace wq::host {

namespace {

constexpr Duration grace =
    std::chrono::seconds(1);  // between SIGTERM and SIGKILL of a task whose time is over
constexpr Duration again = std::chrono::seconds(1);  // SIGKILL once more, for what was forked meanwhile
constexpr Duration sampling = std::chrono::milliseconds(100);
constexpr std::int64_t kb_per_mb = 1024;

bool memory_limited(const Lane* lane) {
    return lane->order.order.watch.limits.memory_mb > 0 && lane->verdict == Verdict::none && lane->pid > 0;
}

}  // namespace

void Limits::watch(Lane& lane) {
    const Duration timeout = lane.order.order.timeout;
    lane.has_deed = timeout > Duration::zero();
    if (lane.has_deed) lane.next_deed = lane.started + timeout;
    if (memory_limited(&lane)) next_sample_ = std::min(next_sample_, lane.started + sampling);
}

void Limits::kill(Lane& lane, Verdict verdict, Instant now) {
    if (lane.verdict == Verdict::none) lane.verdict = verdict;
    signal(lane, SIGKILL);
    lane.has_deed = true;
    lane.next_deed = now + again;
}

void Limits::check(Instant now) {
    for (Lane* lane : lanes_.running())
        if (lane->has_deed && now >= lane->next_deed) time_over(*lane, now);
    if (now >= next_sample_) sample_memory(now);
}

void Limits::time_over(Lane& lane, Instant now) {
    if (lane.verdict != Verdict::none) return kill(lane, lane.verdict, now);
    lane.verdict = Verdict::timed_out;
    signal(lane, SIGTERM);
    signal(lane, SIGCONT);  // a stopped process would not take the SIGTERM
    lane.next_deed = now + grace;
}

std::optional<Instant> Limits::next() const {
    std::optional<Instant> first;
    for (const Lane* lane : lanes_.running()) {
        if (lane->has_deed && (!first || lane->next_deed < *first)) first = lane->next_deed;
        if (memory_limited(lane) && (!first || next_sample_ < *first)) first = next_sample_;
    }
    return first;
}

void Limits::sample_memory(Instant now) {
    bool sampled = false;
    for (Lane* lane : lanes_.running()) {
        if (!memory_limited(lane)) continue;
        sampled = true;
        const std::int64_t limit_kb = lane->order.order.watch.limits.memory_mb * kb_per_mb;
        const std::vector<pid_t> pids = tree(*lane);
        std::int64_t used_kb = 0;
        for (const pid_t pid : pids) used_kb += resident_kb(pid);
        if (used_kb <= limit_kb) continue;
        // Forked workers share pages that were counted for each of them: only what is fairly theirs is held
        // against them.
        used_kb = 0;
        for (const pid_t pid : pids) used_kb += proportional_kb(pid);
        if (used_kb <= limit_kb) continue;
        lane->outcome.reason = "used " + std::to_string(used_kb / kb_per_mb) + " MB, its limit is " +
                               std::to_string(lane->order.order.watch.limits.memory_mb) + " MB";
        kill(*lane, Verdict::out_of_memory, now);
    }
    // A large tree takes long to walk; it is then looked at less often.
    const Instant end = instant_now();
    next_sample_ = sampled ? end + std::max(sampling, 20 * (end - now)) : Instant::max();
}

std::vector<pid_t> Limits::tree(const Lane& lane) const {
    std::vector<pid_t> pids = descendants_of(lane.pid);
    pids.push_back(lane.pid);
    const std::vector<pid_t> orphans = leftovers_.of(lane);
    pids.insert(pids.end(), orphans.begin(), orphans.end());
    return pids;
}

void Limits::signal(const Lane& lane, int signal) const {
    if (lane.pid <= 0) return;
    for (const pid_t pid : tree(lane)) ::kill(pid, signal);
    ::kill(-lane.pid, signal);
}

}  // namespace wq::host
