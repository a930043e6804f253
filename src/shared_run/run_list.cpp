#include "shared_run/run_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/units.h"
#include "shared_list/line_taker.h"

namespace wq::shared_run {

namespace {

using list_store::Sign;
using marked_list::Document;
using marked_list::End;

constexpr Duration second_pause = std::chrono::seconds(1);  // the first retry is at once
constexpr Duration longest_pause = std::chrono::seconds(30);
constexpr int tries_to_close = 3;

bool is_over(const Sign& sign) {
    return sign.lease != Duration{0} && sign.age >= sign.lease;
}

}  // namespace

RunList::RunList(list_store::ListPlace place, std::unique_ptr<list_store::ListStore> store,
                 std::function<void(const std::string&)> say)
    : place_(std::move(place)), say_(std::move(say)), store_(std::move(store)), shared_(*store_, say_) {}

Status RunList::open() {
    if (open_) return success();
    if (auto opened = shared_.open(); !opened) return opened;
    open_ = true;
    return success();
}

bool RunList::fail(const Error& error) {
    if (shared_.lock_failed() || (!open_ && error.code != ExitCode::unreachable)) return true;
    if (!pause_) say_(error.message + "; trying again");
    pause_ = pause_ ? std::clamp(2 * *pause_, second_pause, longest_pause) : Duration{0};
    try_at_ = instant_now() + *pause_;
    usable_ = false;
    return false;
}

void RunList::end_turn() {
    if (usable_ && std::exchange(pause_, std::nullopt)) say_(name() + " is reached again");
}

Status RunList::refuse_taken_id(marked_list::WorkerId id) {
    const auto signs = store_->signs();
    if (!signs) return signs.error();
    for (const Sign& sign : *signs) {
        if (sign.worker != id || is_over(sign)) continue;
        return Error{ExitCode::usage, "worker " + std::to_string(id) + " of " + name() +
                                          " gave a sign of life " + format_duration(sign.age) +
                                          " ago: another id is needed"};
    }
    return success();
}

Status RunList::look(const std::set<marked_list::WorkerId>& ours) {
    const Instant now = instant_now();
    if (auto fresh = shared_.refresh(); !fresh) return fresh;
    const auto signs = store_->signs();
    if (!signs) return signs.error();
    for (const Sign& sign : *signs) {
        if (!is_over(sign) || ours.contains(sign.worker) || left_.contains(sign.worker)) continue;
        if (auto released = release(sign); !released) return released;
    }
    looked_ = now;
    return success();
}

Status RunList::release(const Sign& sign) {
    const std::string worker = std::to_string(sign.worker);
    const auto released = shared_.change("release " + worker, [&](const Document& lines) {
        return marked_list::release(lines, sign.worker, shared_.stamp());
    });
    if (!released) return released.error();
    if (!released->empty())
        say_("worker " + worker + " is lost; lines that wait again: " + std::to_string(released->size()));
    return store_->remove_sign(sign.worker);
}

Status RunList::settle_if_due() {
    const auto due = shared_.unsettled();
    return due && *due <= instant_now() ? shared_.settle() : success();
}

void RunList::add_left(marked_list::WorkerId worker, std::vector<End> ends) {
    std::ranges::move(ends, std::back_inserter(left_[worker]));
}

Status RunList::record_left() {
    if (left_.empty()) return success();
    // First, so that no line is begun later by a change of which no answer came.
    if (auto settled = shared_.settle(); !settled) return settled;
    while (!left_.empty()) {
        auto& [worker, ends] = *left_.begin();
        if (auto recorded = record_left(worker, ends); !recorded) return recorded;
        left_.erase(left_.begin());
    }
    return success();
}

Status RunList::record_left(marked_list::WorkerId worker, std::vector<End>& ends) {
    do {
        const auto made =
            shared_.change("farewell of worker " + std::to_string(worker), [&](const Document& lines) {
                return shared_list::farewell(lines, worker, ends, shared_.stamp());
            });
        if (!made) return made.error();
        shared_list::drop_made(ends, *made);
    } while (!ends.empty());
    return store_->remove_sign(worker);
}

Status RunList::close() {
    Status closed = success();
    for (int tries = 0; tries < tries_to_close; ++tries) {
        closed = record_left();
        if (closed) closed = shared_.settle();
        if (closed) break;
    }
    return closed;
}

}  // namespace wq::shared_run
