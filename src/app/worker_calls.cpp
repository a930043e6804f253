// Worker: calls that run within it.
#include "app/worker.h"

namespace wq::app {

void Worker::call(const wire::Lease& lease) {
    host::CallOrder order{lease.task, lease.attempt, {lease.call->function, lease.call->arguments}};
    const bool here = lease.call->mode != core::CallMode::fork;
    if (functions_ != nullptr && here) return functions_->run(std::move(order), lease.call->mode);
    const host::CallEnd end = host::no_such_function({}, order.call.function);
    host::TaskEnded ended{lease.task, lease.attempt, {}, {}};
    ended.outcome.ending = end.ending;
    ended.outcome.exit_code = end.exit_code;
    ended.outcome.reason = end.reason;
    report_end(ended);
}

void Worker::take_call_reports(Instant now) {
    if (functions_ == nullptr) return;
    for (host::CallReport& report : functions_->next(now)) {
        if (auto* ended = std::get_if<host::TaskEnded>(&report)) {
            pace_.ended(ended->outcome.wall_us);
            report_end(*ended);
        } else if (const auto* returned = std::get_if<host::OrderReturned>(&report)) {
            on_report(*returned);
        } else {
            on_report(std::get<host::RangeProgress>(report));
        }
    }
}

void Worker::on_report(host::RangeProgress& report) {
    for (host::TaskEnded& failed : report.failed) report_end(failed);
    if (!report.done.empty())
        answer(wire::RangeEnded{report.batch, std::move(report.done), report.started_us, report.wall_us}, {});
}

}  // namespace wq::app
