#include "programs/runtask/membership.h"
#include "shared_list/ssh/ssh_store.h"

#include <algorithm>
#include <utility>

namespace wq::programs::runtask {

namespace {

constexpr Duration most_between_looks = std::chrono::minutes(5);

}  // namespace

Membership::Membership(Joining joining, std::function<void(const std::string&)> say,
                       std::function<void()> beaten)
    : joining_(std::move(joining)),
      say_(std::move(say)),
      store_(shared_list::ssh::store_at(joining_.place, say_)),
      list_(*store_, say_),
      lease_(joining_.lease),
      others_(*store_, list_, say_) {
    store_->on_signs([this, beaten = std::move(beaten)](Instant given) {
        if (!joined()) return;
        lease_.given(given);
        beaten();
    });
}

Status Membership::join() {
    if (!open_) {
        // On a master that look would cost another login.
        const bool here = joining_.place.host.empty();
        const Status found = here ? store_->open_to_read() : success();
        if (auto opened = list_.open(); !opened) return opened;
        open_ = true;
        if (!found && list_.list().lines() == 0)
            say_("made an empty list: " + store_->name());
        else if (!here && list_.list().lines() == 0)
            say_(store_->name() + " is empty, or was made just now: is this the right name?");
    }
    if (!id_) {
        if (joining_.id)
            if (auto is_free = others_.refuse_taken_id(*joining_.id); !is_free) return is_free;
        const auto joined = list_.join(joining_.name, joining_.id);
        if (!joined) return joined.error();
        id_ = *joined;
        lines_.emplace(list_, *id_);
    }
    return beat(instant_now());
}

Status Membership::keep(Instant now, LookAtOthers look) {
    if (now >= lease_.next()) {
        if (auto beaten = beat(now); !beaten) return beaten;
        // Others may have released a line that runs.
        if (auto fresh = list_.refresh(); !fresh) return fresh;
    }
    if (look == LookAtOthers::always || now >= next_look()) {
        if (auto looked = others_.find_lost({*id_}); !looked) return looked;
    }
    const auto due = list_.unsettled();
    return due && *due <= now ? list_.settle() : success();
}

Instant Membership::next_look() const {
    const Duration lease = lease_.length();
    std::optional<Instant> next = others_.next_look();
    earliest(next, others_.looked() +
                       (lease == Duration{0} ? most_between_looks : std::min(lease / 2, most_between_looks)));
    return *next;
}

Instant Membership::next(Instant now) const {
    std::optional<Instant> next = list_.unsettled();
    earliest(next, lease_.next());
    earliest(next, next_look());
    return std::max(*next, now);
}

Status Membership::beat(Instant now) {
    if (auto beaten = store_->beat(*id_, lease_.length()); !beaten) return beaten;
    lease_.given(now);  // before the call: the sign is not older
    return success();
}

Status Membership::leave() {
    if (!joined()) return success();
    // First, so that nothing that was sent before is made later.
    if (auto settled = list_.settle(); !settled) return settled;
    const auto lost = list_.change("farewell", [&](const shared_list::text::Document& list) {
        return shared_list::text::release(list, *id_, list_.stamp());
    });
    if (!lost) return lost.error();
    if (auto settled = list_.unsettled() ? list_.settle() : success(); !settled) return settled;
    return store_->remove_sign(*id_);
}

}  // namespace wq::programs::runtask
