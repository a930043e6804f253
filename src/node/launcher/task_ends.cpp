#include "node/launcher/task_ends.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/remove_tree.h"
#include "node/launcher/task_starter.h"
#include "node/process/functions.h"
#include "node/process/process_tree.h"

namespace wq::node::launcher {

namespace {

constexpr std::int64_t rusage_block_bytes = 512;  // the unit of ru_inblock and ru_oublock

void note_end(Lane& lane, int status, const rusage& usage, Instant now) {
    engine::model::Outcome& outcome = lane.outcome;
    if (WIFEXITED(status)) {
        outcome.ending = engine::model::Ending::exited;
        outcome.exit_code = WEXITSTATUS(status);
    } else {
        outcome.ending = engine::model::Ending::signalled;
        outcome.signal = WTERMSIG(status);
    }
    outcome.wall_us = (now - lane.started).count() / 1000;
    outcome.user_us = process::micros_of(usage.ru_utime);
    outcome.system_us = process::micros_of(usage.ru_stime);
    outcome.peak_memory_kb = usage.ru_maxrss;
    outcome.bytes_read = usage.ru_inblock * rusage_block_bytes;
    outcome.bytes_written = usage.ru_oublock * rusage_block_bytes;
}

// Sets why the task ended, if we or the kernel ended it.
void judge(Lane& lane, bool by_kernel) {
    engine::model::Outcome& outcome = lane.outcome;
    switch (lane.verdict) {
        case usage::Verdict::timed_out:
            outcome.ending = engine::model::Ending::timed_out;
            return;
        case usage::Verdict::out_of_memory:
            outcome.ending = engine::model::Ending::out_of_memory;
            return;
        case usage::Verdict::exhausted:
            outcome.ending = engine::model::Ending::exhausted;
            return;
        case usage::Verdict::killed:
            outcome.ending = engine::model::Ending::killed;
            return;
        case usage::Verdict::none:
            break;
    }
    if (by_kernel) outcome.ending = engine::model::Ending::out_of_memory;
}

// Reads the rest of its output. True if some process still holds one of its streams.
bool held_open(Lane& lane) {
    const process::Capture::State out = lane.out.drain();
    const process::Capture::State err = lane.err.drain();
    return out != process::Capture::State::closed || err != process::Capture::State::closed;
}

// Done in a separate process, because a task may have left a million files. Its pid; -1: none can be forked,
// and the folder goes with the workspace.
pid_t remove_aside(const std::string& path, const machine::CpuMask& all_cores) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!all_cores.empty()) all_cores.apply_to(0);  // not a starter's core alone
    close_from(3);
    remove_tree(AT_FDCWD, path);
    _exit(0);
}

}  // namespace

void TaskEnds::retire_lane(Lane& lane, int status, const rusage& usage, Instant now) {
    note_end(lane, status, usage, now);
    lanes_.retire(lane);
    noted_.push_back(&lane);
}

void TaskEnds::settle(Ended ended, Instant now) {
    const std::vector<Lane*> lanes = std::exchange(noted_, {});
    bool left = ended == Ended::others_too;
    for (Lane* lane : lanes) left = held_open(*lane) || left;
    // If listing orphans is costly, at least the process group is killed at once.
    if (!leftovers_.cheap())
        for (const Lane* lane : lanes) left = ::kill(-lane->pid, SIGKILL) == 0 || left;
    const bool killed = left ? leftovers_.sweep() : leftovers_.sweep_if_cheap(now);
    killed_orphans_ = killed_orphans_ || killed;
    for (Lane* lane : lanes) finish(*lane, left || killed || leftovers_.any_unknown(), now);
}

void TaskEnds::finish(Lane& lane, bool may_be_held, Instant now) {
    ++count_;
    if (may_be_held) held_open(lane);  // reads what they wrote in the meantime
    judge(lane, watch_.ended_by_kernel(lane));
    watch_.finish(lane);
    lane.outcome.stdout_bytes = lane.out.total();
    lane.outcome.stderr_bytes = lane.err.total();
    const process::Order& order = lane.order.order;
    engine::model::Output output{
        lane.out.take("stdout"), lane.err.take("stderr"), {}, std::move(lane.report)};
    if (order.call) output.result = CallStarter::take_result(lane);
    reports_.add(lane.order.serial,
                 TaskEnded{order.task,
                           order.attempt,
                           std::move(lane.outcome),
                           std::move(output),
                           {lane.out.take_file(), lane.err.take_file()}},
                 now);
    outputs_.ended(lane);
    if (may_be_held) {
        // The killed processes may still be alive and hold the other end. If this fails, the next task's
        // start tries again.
        lane.out.renew();
        lane.err.renew();
    }
    release(lane);
}

void TaskEnds::release(Lane& lane) {
    accounts_.give_back(lane.holding);
    watch_.release(lane);
    if (const std::string aside = lane.directory.make_empty(); !aside.empty())
        if (const pid_t pid = remove_aside(aside, accounts_.all_cores()); pid > 0) leftovers_.add_own(pid);
    lanes_.release(lane);
}

void ReportBuffer::add(std::uint64_t serial, Report report, Instant now) {
    append(batch_, ReportMessage{serial, std::move(report)});
    ++count_;
    note_unreported(now);
}

void ReportBuffer::note_unreported(Instant now) {
    if (!first_) first_ = now;
}

bool ReportBuffer::due(Instant now) const {
    return first_ && (count_ >= most_reports || batch_.size() >= most_bytes || now >= due_at());
}

bool ReportBuffer::flush(int socket) {
    count_ = 0;
    first_.reset();
    if (leaving_.empty())
        std::swap(leaving_.end(), batch_);
    else
        leaving_.end() += batch_;
    batch_.clear();
    return leaving_.empty() || leaving_.send(socket);
}

}  // namespace wq::node::launcher
