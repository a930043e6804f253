#include "node/launcher/output_watch.h"

#include <utility>

namespace wq::node::launcher {

namespace {

// A task that writes more than its pipe holds (64 KiB) waits for this once. With 1 ms, the loop was woken for
// most tasks of 0.7 ms on busy cores, which cost 1 % of their rate.
constexpr Duration unwatched_time = std::chrono::milliseconds(4);

}  // namespace

void OutputWatch::ended(Lane& lane) {
    if (!std::exchange(lane.watched, false)) --unwatched_;
}

Instant OutputWatch::next(Instant now) const {
    return owed() ? now + unwatched_time : Instant::max();
}

bool OutputWatch::due(const Lane& lane, Instant now) {
    return !lane.watched && now - lane.started >= unwatched_time;
}

void OutputWatch::watch(Lane& lane) {
    lane.watched = true;
    --unwatched_;
    watch_stream(lane.out, process::Source::lane_out, lane.index);
    watch_stream(lane.err, process::Source::lane_err, lane.index);
}

void OutputWatch::watch_stream(process::Capture& capture, process::Source source, std::size_t number) {
    if (std::exchange(capture.in_poller, true))
        poller_.change(capture.read_end(), source, EPOLLIN | EPOLLONESHOT, number);
    else
        poller_.add(capture.read_end(), source, EPOLLIN | EPOLLONESHOT, number);
}

void OutputWatch::drain(process::Capture& capture, process::Source source, std::size_t number) {
    // A closed stream would always be ready, so it is not watched again.
    if (capture.drain() != process::Capture::State::closed) watch_stream(capture, source, number);
}

}  // namespace wq::node::launcher
