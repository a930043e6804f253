#include "shared_run/marking_recorder.h"

#include <algorithm>

namespace wq::shared_run {

namespace {

using core::Ending;
using marked_list::TryEnd;

constexpr int exit_of_timeout = 124;  // as of timeout(1)
constexpr int exit_of_signal = 128;   // as in shells: and the signal's number

int exit_code_of(const core::Outcome& outcome) {
    switch (outcome.ending) {
        case Ending::exited:
        case Ending::not_started:
            return outcome.exit_code;
        case Ending::signalled:
            return exit_of_signal + outcome.signal;
        case Ending::timed_out:
            return exit_of_timeout;
        default:
            return 1;
    }
}

// Whether the line should wait again: nobody knows how it would have ended.
bool is_lost(const core::Outcome& outcome) {
    return outcome.ending == Ending::worker_lost || outcome.ending == Ending::killed ||
           outcome.ending == Ending::never_ran;
}

// How many lines with this need of cores fit; 0: none.
std::uint32_t lines_of(Count offered, Count needed) {
    if (needed <= 0) return static_cast<std::uint32_t>(std::max<std::int64_t>(offered.rounded_down(), 1));
    return static_cast<std::uint32_t>(offered.thousandths() / needed.thousandths());
}

std::string name_of(const records::WorkerRecord& record) {
    if (record.rank != records::no_rank) return record.host + " rank " + std::to_string(record.rank);
    return record.host + " " + record.address;
}

}  // namespace

void MarkingRecorder::task(stats::Recorded ended) {
    const bool wanted = source_ != nullptr && source_->wants_output(ended.record.task);
    const auto ticket =
        source_ != nullptr && ended.record.final ? source_->take_ticket(ended.record.task) : std::nullopt;
    if (ticket) {
        const core::Outcome& outcome = ended.record.outcome;
        LineEnded event{*ticket, TryEnd::ok, 0, wanted ? ended.output.out : std::string()};
        if (is_lost(outcome)) {
            event.end = TryEnd::lost;
        } else if (!outcome.succeeded()) {
            event.end = TryEnd::error;
            event.exit_code = exit_code_of(outcome);
        }
        source_->happened(std::move(event));
    }
    to_->task(std::move(ended));
}

void MarkingRecorder::skipped(const IntervalSet& tasks, const std::string& why, WallMicros when) {
    if (source_ != nullptr) {
        tasks.for_each([&](Interval part) {
            for (std::uint64_t id = part.first; id < part.end; ++id) {
                if (const auto ticket = source_->take_ticket(TaskId(id)))
                    source_->happened(LineEnded{*ticket, TryEnd::lost, 0, {}});
            }
        });
    }
    to_->skipped(tasks, why, when);
}

void MarkingRecorder::worker(const records::WorkerRecord& record) {
    to_->worker(record);
    if (source_ == nullptr) return;
    if (record.left_us != 0)
        source_->happened(SeatLeft{record.worker});
    else
        source_->happened(SeatJoined{record.worker, name_of(record), lines_of(record.offers.cores, cores_)});
}

}  // namespace wq::shared_run
