#include "shared_list/source/run_list.h"

#include <algorithm>
#include <utility>

namespace wq::shared_list::source {

namespace {

using text::Document;

constexpr Duration second_pause = std::chrono::seconds(1);  // the first retry is at once
constexpr Duration longest_pause = std::chrono::seconds(30);
constexpr int tries_to_close = 3;

}  // namespace

RunList::RunList(store::ListPlace place, std::unique_ptr<store::ListStore> store,
                 std::function<void(const std::string&)> say)
    : place_(std::move(place)),
      say_(std::move(say)),
      store_(std::move(store)),
      shared_(*store_, say_),
      others_(*store_, shared_, say_) {}

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

Status RunList::follow_others(std::set<text::WorkerId> ours) {
    for (const auto& [worker, lines] : left_) ours.insert(worker);
    if (auto fresh = shared_.refresh(); !fresh) return fresh;
    return others_.find_lost(ours);
}

Status RunList::settle_if_due() {
    const auto due = shared_.unsettled();
    return due && *due <= instant_now() ? shared_.settle() : success();
}

void RunList::add_left(text::WorkerId worker, std::unique_ptr<replica::LineTaker> lines) {
    left_[worker] = std::move(lines);
}

Status RunList::record_left() {
    while (!left_.empty()) {
        const auto first = left_.begin();
        if (auto recorded = record_left(first->first, *first->second); !recorded) return recorded;
        left_.erase(first);
    }
    return success();
}

// By the taker, which finds out about a change of which no answer came: a try may have but one end.
Status RunList::record_left(text::WorkerId worker, replica::LineTaker& lines) {
    while (lines.has_ends())
        if (const Status recorded = lines.record_ends(); !recorded) return recorded;
    // So that no line is begun later by such a change.
    if (auto settled = shared_.settle(); !settled) return settled;
    const auto released =
        shared_.change("farewell of worker " + std::to_string(worker),
                       [&](const Document& list) { return text::release(list, worker, shared_.stamp()); });
    return released ? store_->remove_sign(worker) : Status(released.error());
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

}  // namespace wq::shared_list::source
