#include "host/limits.h"

#include <signal.h>

namespace wq::host {

namespace {

constexpr Duration grace =
    std::chrono::seconds(1);  // between SIGTERM and SIGKILL of a task whose time is over
constexpr Duration again = std::chrono::seconds(1);  // SIGKILL once more, for what was forked meanwhile

}  // namespace

void Limits::watch(Lane& lane) {
    const Duration timeout = lane.order.order.timeout;
    lane.has_deed = timeout > Duration::zero();
    if (lane.has_deed) lane.next_deed = lane.started + timeout;
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
    for (const Lane* lane : lanes_.running())
        if (lane->has_deed && (!first || lane->next_deed < *first)) first = lane->next_deed;
    return first;
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
    if (signal == SIGKILL && lane.group) lane.group->kill();  // who was forked meanwhile too
}

}  // namespace wq::host
