#include "runtask/membership.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"

namespace wq::runtask {

namespace {

using list_store::Sign;
using marked_list::Document;
using marked_list::WorkerId;

constexpr Duration most_between_beats = std::chrono::seconds(30);
constexpr Duration most_between_looks = std::chrono::minutes(5);

bool is_lost(const Sign& sign) {
    return sign.lease != Duration{0} && sign.age >= sign.lease;
}

// `lease`: 0 is for ever.
Duration part_of(Duration lease, int divisor, Duration most) {
    return lease == Duration{0} ? most : std::min(lease / divisor, most);
}

}  // namespace

Membership::Membership(Joining joining, std::function<void(const std::string&)> say,
                       std::function<void()> beaten)
    : joining_(std::move(joining)),
      say_(std::move(say)),
      store_(list_store::store_at(joining_.place, say_)),
      list_(*store_, say_) {
    store_->on_signs([this, beaten = std::move(beaten)](Instant given) {
        if (!beaten_) return;
        beaten_ = std::max(*beaten_, given);
        beaten();
    });
}

Status Membership::join() {
    if (!open_) {
        if (auto opened = list_.open(); !opened) return opened;
        open_ = true;
    }
    if (!id_) {
        if (auto is_free = refuse_taken_id(); !is_free) return is_free;
        const auto joined = list_.join(joining_.name, joining_.id);
        if (!joined) return joined.error();
        id_ = *joined;
        lines_.emplace(list_, *id_);
    }
    return beat(instant_now());
}

Status Membership::refuse_taken_id() {
    if (!joining_.id) return success();
    const auto signs = store_->signs();
    if (!signs) return signs.error();
    const std::string id = std::to_string(*joining_.id);
    for (const Sign& sign : *signs) {
        if (sign.worker != *joining_.id || is_lost(sign)) continue;
        return Error{ExitCode::usage,
                     "worker " + id + " of " + name() + " gave a sign of life " + format_duration(sign.age) +
                         " ago: choose another --id; if it is gone: --release " + id + " --force"};
    }
    return success();
}

Status Membership::keep(Instant now, bool idle) {
    if (now >= *beaten_ + part_of(joining_.lease, 4, most_between_beats)) {
        if (auto beaten = beat(now); !beaten) return beaten;
    }
    if (idle || now >= others_seen_ + part_of(joining_.lease, 2, most_between_looks)) {
        if (auto released = release_lost(now); !released) return released;
    }
    const auto due = list_.unsettled();
    return due && *due <= now ? list_.settle() : success();
}

Instant Membership::next(Instant now) const {
    std::optional<Instant> next = list_.unsettled();
    earliest(next, *beaten_ + part_of(joining_.lease, 4, most_between_beats));
    earliest(next, others_seen_ + part_of(joining_.lease, 2, most_between_looks));
    return std::max(*next, now);
}

std::optional<Instant> Membership::lapses() const {
    if (joining_.lease == Duration{0} || !beaten_) return std::nullopt;
    return *beaten_ + joining_.lease - joining_.lease / 10;
}

Status Membership::beat(Instant now) {
    if (auto beaten = store_->beat(*id_, joining_.lease); !beaten) return beaten;
    beaten_ = now;  // before the call: the sign is not older
    return success();
}

Status Membership::release_lost(Instant now) {
    const auto signs = store_->signs();
    if (!signs) return signs.error();
    others_seen_ = now;
    for (const Sign& sign : *signs) {
        if (sign.worker == *id_ || !is_lost(sign)) continue;
        const auto released = list_.change(
            "release " + std::to_string(sign.worker),
            [&](const Document& list) { return marked_list::release(list, sign.worker, list_.stamp()); });
        if (!released) return released.error();
        if (!released->empty())
            say_("worker " + std::to_string(sign.worker) + " gave no sign of life for " +
                 format_duration(sign.age) + ": " + count_of(released->size(), "line") +
                 " that it was running can run again");
        if (auto removed = store_->remove_sign(sign.worker); !removed) return removed;
    }
    return success();
}

Status Membership::leave() {
    if (!joined()) return success();
    // First, so that nothing that was sent before is made later.
    if (auto settled = list_.settle(); !settled) return settled;
    const auto lost = list_.change("farewell", [&](const Document& list) {
        return shared_list::farewell(list, *id_, {}, list_.stamp());
    });
    if (!lost) return lost.error();
    if (auto settled = list_.unsettled() ? list_.settle() : success(); !settled) return settled;
    return store_->remove_sign(*id_);
}

}  // namespace wq::runtask
