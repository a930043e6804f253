#include "shared_list/replica/other_workers.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/units.h"

namespace wq::shared_list::replica {

namespace {

constexpr Duration least_poll = std::chrono::milliseconds(10);
constexpr Duration least_lease = std::chrono::seconds(2);
constexpr Duration most_between_beats = std::chrono::seconds(30);

Duration clock_time(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Duration slept() {
    return clock_time(CLOCK_BOOTTIME) - clock_time(CLOCK_MONOTONIC);
}

}  // namespace

Result<Duration> parse_poll(const std::string& text) {
    const auto poll = parse_duration(text);
    if (poll && *poll < least_poll) return Error{ExitCode::usage, "at least 0.01 (seconds)"};
    return poll;
}

Result<Duration> parse_lease(const std::string& text) {
    const auto lease = parse_duration(text);
    if (lease && *lease != Duration{0} && *lease < least_lease)
        return Error{ExitCode::usage,
                     "at least 2s, or 0 (lines of lost workers never wait again by themselves)"};
    return lease;
}

Duration between_beats(Duration lease) {
    return lease == Duration{0} ? most_between_beats : std::min(lease / 4, most_between_beats);
}

std::optional<Instant> lapse_of(Instant beaten, Duration lease) {
    if (lease == Duration{0}) return std::nullopt;
    return beaten + lease - lease / 10;
}

void Lease::given(Instant when) {
    if (last_ && *last_ >= when) return;
    last_ = when;
    slept_ = slept();
}

std::optional<Instant> Lease::lapses() const {
    return last_ ? lapse_of(*last_, length_) : std::nullopt;
}

bool Lease::has_lapsed() const {
    const auto lapses = this->lapses();
    return lapses && instant_now() + (slept() - slept_) >= *lapses;
}

namespace {

using store::Sign;
using text::Document;
using text::WorkerId;

// Half more than a worker may let pass between two signs.
Duration until_sure(Duration lease) {
    return between_beats(lease) + between_beats(lease) / 2;
}

}  // namespace

OtherWorkers::OtherWorkers(ListStore& store, SharedList& list, std::function<void(const std::string&)> say)
    : store_(store), list_(list), say_(std::move(say)) {}

Status OtherWorkers::refuse_taken_id(WorkerId id) {
    const auto signs = store_.signs();
    if (!signs) return signs.error();
    const std::string worker = std::to_string(id);
    for (const Sign& sign : *signs) {
        if (sign.worker != id || !sign.lives()) continue;
        return Error{ExitCode::usage, "worker " + worker + " of " + store_.name() + " gave a sign of life " +
                                          format_duration(sign.age) +
                                          " ago: choose another id; if that worker is gone, run --release " +
                                          worker + " --force"};
    }
    return success();
}

Status OtherWorkers::find_lost(const std::set<WorkerId>& ours) {
    const Instant now = instant_now();
    const auto signs = store_.signs();
    if (!signs) return signs.error();
    std::map<WorkerId, Instant> seeming;
    for (const Sign& sign : *signs) {
        if (sign.lives() || ours.contains(sign.worker)) continue;
        const auto before = seeming_.find(sign.worker);
        const Instant sure = before == seeming_.end() ? now + until_sure(sign.lease) : before->second;
        if (now < sure)
            seeming[sign.worker] = sure;
        else if (auto released = release(sign); !released)
            return released;
    }
    seeming_ = std::move(seeming);
    looked_ = now;
    return success();
}

std::optional<Instant> OtherWorkers::next_look() const {
    std::optional<Instant> next;
    for (const auto& [worker, sure] : seeming_) earliest(next, sure);
    return next;
}

Status OtherWorkers::release(const Sign& sign) {
    const std::string worker = std::to_string(sign.worker);
    const auto released = list_.change("release " + worker, [&](const Document& lines) {
        return text::release(lines, sign.worker, list_.stamp());
    });
    if (!released) return released.error();
    if (!released->empty())
        say_("worker " + worker + " of " + store_.name() + " is lost, without a sign of life for " +
             format_duration(sign.age) + ": " + count_of(released->size(), "line") + " can run again");
    return store_.remove_sign(sign.worker);
}

}  // namespace wq::shared_list::replica
