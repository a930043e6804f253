#include "shared_run/run_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace wq::shared_run {

namespace {

using list_store::Sign;
using marked_list::Document;
using marked_list::WorkerId;

constexpr Duration longest_beat_interval = std::chrono::seconds(30);
constexpr Duration shortest_pause = std::chrono::seconds(1);
constexpr Duration longest_pause = std::chrono::seconds(30);

bool is_lost(const Sign& sign) {
    return sign.lease != Duration{0} && sign.age >= sign.lease;
}

}  // namespace

RunList::RunList(list_store::ListPlace place, std::unique_ptr<list_store::ListStore> store, Duration lease,
                 Say say)
    : place_(std::move(place)),
      store_(std::move(store)),
      lease_(lease),
      say_(std::move(say)),
      list_(*store_, say_) {}

Status RunList::open() {
    if (open_) return success();
    if (auto opened = list_.open(); !opened) return opened;
    open_ = true;
    return success();
}

Result<WorkerId> RunList::join(const std::string& name, std::optional<WorkerId> wanted) {
    if (wanted) {
        const auto signs = store_->signs();
        if (!signs) return signs.error();
        const bool taken = std::ranges::any_of(
            *signs, [&](const Sign& sign) { return sign.worker == *wanted && !is_lost(sign); });
        if (taken)
            return Error{ExitCode::usage,
                         "worker " + std::to_string(*wanted) + " of " + store_->name() + " lives already"};
    }
    const auto joined = list_.join(name, wanted);
    if (!joined) return joined.error();
    members_[*joined] = std::nullopt;
    list_.move_to(0, *joined);
    return *joined;
}

void RunList::leave(WorkerId worker, std::vector<marked_list::End> ends) {
    members_.erase(worker);
    std::ranges::move(ends, std::back_inserter(left_[worker]));
}

Duration RunList::beat_interval() const {
    return lease_ == Duration{0} ? longest_beat_interval
                                 : std::min<Duration>(lease_ / 4, longest_beat_interval);
}

Status RunList::keep(Instant now, bool looks) {
    if (!open_) return success();
    if (auto beaten = beat(now); !beaten) return beaten;
    if (auto done = bid_farewell(); !done) return done;
    if (looks) {
        if (auto fresh = list_.refresh(); !fresh) return fresh;
        if (auto released = release_lost(); !released) return released;
    }
    const auto due = list_.unsettled();
    return due && *due <= now ? list_.settle() : success();
}

Status RunList::beat(Instant now) {
    for (auto& [worker, beaten] : members_) {
        if (beaten && now < *beaten + beat_interval()) continue;
        if (auto done = store_->beat(worker, lease_); !done) return done;
        beaten = instant_now();
    }
    return success();
}

// The sign is there until the farewell is recorded: it tells others that lines may have been lost.
Status RunList::bid_farewell() {
    while (!left_.empty()) {
        const WorkerId worker = left_.begin()->first;
        std::vector<marked_list::End>& ends = left_.begin()->second;
        const auto made = list_.change(
            "farewell of worker " + std::to_string(worker),
            [&](const Document& lines) { return shared_list::farewell(lines, worker, ends, list_.stamp()); });
        if (!made) return made.error();
        shared_list::drop_made(ends, *made);
        if (!ends.empty()) continue;
        if (!members_.contains(worker))
            if (auto removed = store_->remove_sign(worker); !removed) return removed;
        left_.erase(left_.begin());
    }
    return success();
}

// Lines of other workers that gave no sign for longer than their lease wait again. Ours were beaten for just
// now.
Status RunList::release_lost() {
    const auto signs = store_->signs();
    if (!signs) return signs.error();
    for (const Sign& sign : *signs) {
        if (!is_lost(sign) || members_.contains(sign.worker)) continue;
        const std::string id = std::to_string(sign.worker);
        const auto released = list_.change("release of worker " + id, [&](const Document& lines) {
            return marked_list::release(lines, sign.worker, list_.stamp());
        });
        if (!released) return released.error();
        if (!released->empty())
            say_("worker " + id + " is lost; lines that wait again: " + std::to_string(released->size()));
        if (auto removed = store_->remove_sign(sign.worker); !removed) return removed;
    }
    return success();
}

bool RunList::note_trouble(Instant now) {
    const bool first = !trouble_;
    const Duration pause =
        first ? Duration{0} : std::clamp(2 * trouble_->pause, shortest_pause, longest_pause);
    trouble_ = Trouble{now + pause, pause};
    return first;
}

bool RunList::take_trouble_over() {
    return std::exchange(trouble_, std::nullopt).has_value();
}

std::optional<Instant> RunList::next() const {
    if (trouble_) return trouble_->again_at;
    if (!open_) return std::nullopt;
    std::optional<Instant> next = list_.unsettled();
    for (const auto& [worker, beaten] : members_)
        earliest(next, beaten.value_or(Instant{}) + beat_interval());
    if (!left_.empty()) earliest(next, Instant{});
    return next;
}

std::optional<Instant> RunList::lapses(WorkerId worker) const {
    const auto member = members_.find(worker);
    if (lease_ == Duration{0} || member == members_.end() || !member->second) return std::nullopt;
    return *member->second + lease_ / 10 * 9;
}

Status RunList::close() {
    if (!open_) return success();
    if (auto done = bid_farewell(); !done) return done;
    return list_.settle();
}

}  // namespace wq::shared_run
