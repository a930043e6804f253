#include "shared_list/source/marking_recorder.h"

namespace wq::shared_list::source {

namespace {

using engine::model::Ending;
using text::TryEnd;

constexpr int exit_of_timeout = 124;  // as of timeout(1)
constexpr int exit_of_signal = 128;   // as in shells: and the signal's number

int exit_code_of(const engine::model::Outcome& outcome) {
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
bool is_lost(const engine::model::Outcome& outcome) {
    return outcome.ending == Ending::worker_lost || outcome.ending == Ending::killed ||
           outcome.ending == Ending::never_ran;
}

}  // namespace

void MarkingRecorder::task(records::recorder::Recorded ended) {
    if (source_ != nullptr && ended.record.final) {
        const engine::model::Outcome& outcome = ended.record.outcome;
        source_->ended(ended.record.task, [&](std::uint64_t ticket, bool probe) {
            LineEnded event{ticket, TryEnd::ok, 0, probe ? ended.output.out : std::string()};
            if (is_lost(outcome)) {
                event.end = TryEnd::lost;
            } else if (!outcome.succeeded()) {
                event.end = TryEnd::error;
                event.exit_code = exit_code_of(outcome);
            }
            return event;
        });
    }
    to_->task(std::move(ended));
}

void MarkingRecorder::skipped(const IntervalSet& tasks, const std::string& why, WallMicros when) {
    if (source_ != nullptr) {
        const auto lost = [](std::uint64_t ticket, bool) { return LineEnded{ticket, TryEnd::lost, 0, {}}; };
        tasks.for_each([&](Interval part) {
            for (std::uint64_t id = part.first; id < part.end; ++id) source_->ended(TaskId(id), lost);
        });
    }
    to_->skipped(tasks, why, when);
}

void MarkingRecorder::worker(const records::journal::WorkerRecord& record) {
    to_->worker(record);
    if (source_ == nullptr) return;
    if (record.left_us != 0)
        source_->left(record.worker);
    else
        source_->joined(record);
}

}  // namespace wq::shared_list::source
