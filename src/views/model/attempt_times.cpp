#include "views/model/attempt_times.h"

#include <algorithm>

namespace wq::views::model {

namespace {

void keep_within(WallMicros& time, WallMicros least, WallMicros most) {
    if (time != 0) time = std::clamp(time, least, std::max(least, most));
}

}  // namespace

void bound_time(WallMicros& time) {
    time = std::clamp<WallMicros>(time, 0, latest_time);
}

void shift_clock(RunAttempt& attempt) {
    if (attempt.started == 0 || attempt.received == 0) return;
    for (WallMicros* time : {&attempt.dispatched, &attempt.inputs_there, &attempt.started, &attempt.ended,
                             &attempt.outputs_there, &attempt.received})
        bound_time(*time);
    const WallMicros took =
        attempt.calls == 1 && attempt.ended > attempt.started ? attempt.ended - attempt.started : 0;
    const WallMicros latest = std::max(attempt.received - took, attempt.dispatched);
    const WallMicros shift = std::clamp(attempt.started, attempt.dispatched, latest) - attempt.started;
    for (WallMicros* time : {&attempt.inputs_there, &attempt.started, &attempt.ended, &attempt.outputs_there})
        if (*time != 0) *time += shift;
}

void bring_into_order(RunAttempt& attempt) {
    for (WallMicros* time : {&attempt.submitted, &attempt.ready, &attempt.dispatched, &attempt.inputs_there,
                             &attempt.started, &attempt.ended, &attempt.outputs_there, &attempt.received})
        bound_time(*time);
    const WallMicros most = attempt.received == 0 ? latest_time : attempt.received;
    WallMicros least = 0;
    for (WallMicros* time : {&attempt.dispatched, &attempt.inputs_there, &attempt.started, &attempt.ended,
                             &attempt.outputs_there}) {
        keep_within(*time, least, most);
        least = std::max(least, *time);
    }
    const WallMicros begin = attempt.dispatched != 0 ? attempt.dispatched
                             : attempt.started != 0  ? attempt.started
                                                     : most;
    keep_within(attempt.submitted, 0, begin);
    keep_within(attempt.ready, attempt.submitted, begin);
}

Phase PhaseTimes::at(WallMicros time) const {
    std::size_t phase = 0;
    while (phase + 1 < begin.size() && begin[phase + 1] <= time) ++phase;
    return static_cast<Phase>(phase);
}

WallMicros PhaseTimes::next_change(WallMicros time) const {
    for (const WallMicros one : begin)
        if (one > time) return one;
    return begin.back();
}

PhaseTimes phases_of(const RunAttempt& attempt, WallMicros end) {
    RunAttempt at = attempt;
    bring_into_order(at);
    const WallMicros begin = at.dispatched != 0 ? at.dispatched : at.started;
    if (at.received == 0) at.received = std::max({end, begin, at.started, at.ended, at.outputs_there});
    const WallMicros over = at.received;
    if (begin == 0) return {{over, over, over, over, over, over}};
    if (at.calls > 1) {
        const WallMicros started = at.started != 0 ? at.started : begin;
        return {{started, started, started, over, over, over}};
    }
    const WallMicros inputs = std::max(at.inputs_there, begin);  // 0: not known
    if (at.started == 0) return {{begin, inputs, over, over, over, over}};
    const WallMicros ended = at.ended != 0 ? at.ended : over;
    const WallMicros outputs = std::max(at.outputs_there, ended);
    return {{begin, inputs, at.started, ended, outputs, over}};
}

}  // namespace wq::views::model
