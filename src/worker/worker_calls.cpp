// The part of Worker that runs calls in its own process. The launcher runs calls in forked children, like
// commands.
#include "worker/worker.h"

namespace wq::worker {

void Worker::call(const wire::Lease& lease) {
    const bool forked = lease.call->mode == core::CallMode::fork;
    launcher::CallOrder order{lease.task, lease.attempt, {lease.call->function, lease.call->arguments}};
    if (functions_ != nullptr && !forked) return functions_->run(std::move(order), lease.call->mode);
    const process::CallEnd end =
        forked ? process::forks_no_calls() : process::no_such_function({}, order.call.function);
    launcher::TaskEnded ended{lease.task, lease.attempt, {}, {}};
    ended.outcome.ending = end.ending;
    ended.outcome.exit_code = end.exit_code;
    ended.outcome.reason = end.reason;
    report_end(ended);
}

void Worker::take_call_reports(Instant now) {
    if (functions_ == nullptr) return;
    for (launcher::CallReport& report : functions_->next(now)) {
        if (auto* ended = std::get_if<launcher::TaskEnded>(&report)) {
            prefetch_.ended(ended->outcome.wall_us);
            report_end(*ended);
        } else if (const auto* returned = std::get_if<launcher::OrderReturned>(&report)) {
            on_report(*returned);
        } else {
            on_report(std::get<launcher::RangeProgress>(report));
        }
    }
}

// One claim runs while the next one is queued, so that the calling thread never waits for this one.
void Worker::take_ranges(Instant now) {
    if (!tickets_->active()) return;
    const std::uint64_t claim = claim_size_.claim(tickets_->left_in_node(), tickets_->ranks_of_node());
    if (functions_->held_of_ranges() > claim) return;
    bool any = false;
    for (launcher::RangeOrder& order : tickets_->take_ranges(claim, now, *outbox_)) {
        ranges_.insert(order.tasks);
        functions_->run(std::move(order));
        any = true;
    }
    // next() passes them on, and was already called this turn.
    if (any) on_launcher(now);
}

// Each task that an account names becomes a lease, so wait until few are left. A long range ends soon,
// because it was claimed for some ms; if it takes longer than that, its rest is returned.
bool Worker::ranges_are_few(Instant now) {
    constexpr std::uint64_t few = 256;
    constexpr Duration wait_limit = std::chrono::seconds(1);
    if (ranges_.count() <= few) {
        many_since_.reset();
        return true;
    }
    if (!many_since_) many_since_ = now;
    if (now - *many_since_ >= wait_limit) functions_->return_ranges();
    return false;
}

void Worker::on_report(launcher::RangeProgress& report) {
    const auto forget = [&](const IntervalSet& tasks) {
        tasks.for_each([&](Interval part) { ranges_.erase(part); });
    };
    forget(report.done);
    forget(report.returned);
    for (launcher::TaskEnded& failed : report.failed) {
        ranges_.erase(failed.task.value());
        report_end(failed);
    }
    if (accounted_ && report.batch <= *accounted_)  // else it is requeued with the unclaimed tickets
        report.returned.for_each([&](Interval part) {
            for (std::uint64_t task = part.first; task < part.end; ++task)
                answer(wire::GivenBack{TaskId(task), 1}, {});
        });
    if (report.done.empty()) return;
    claim_size_.ended(report.done.count(), report.wall_us);
    answer(wire::RangeEnded{report.batch, std::move(report.done), report.started_us, report.wall_us}, {});
}

}  // namespace wq::worker
