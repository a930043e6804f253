// One shared list, which the workers of a run use together. After an error it is not used for a while.
// Workers of other lists need not wait for it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/replica/line_taker.h"
#include "shared_list/replica/other_workers.h"
#include "shared_list/replica/shared_list.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::source {

class RunList {
  public:
    RunList(store::ListPlace place, std::unique_ptr<store::ListStore> store,
            std::function<void(const std::string&)> say);

    const store::ListPlace& place() const { return place_; }
    std::string name() const { return store_->name(); }
    replica::SharedList& shared() { return shared_; }
    const replica::SharedList& shared() const { return shared_; }
    const text::Document& lines() const { return shared_.list(); }
    bool is_open() const { return open_; }
    Status open();

    // After an error it is not usable for the rest of the turn, and for the pause that follows.
    void begin_turn() { usable_ = instant_now() >= try_at_; }
    bool usable() const { return usable_; }
    bool fail(const Error& error);  // returns whether it is in vain to try again
    void end_turn();
    bool in_trouble() const { return pause_.has_value(); }
    Instant try_at() const { return try_at_; }

    // Of workers that live.
    Status beat(text::WorkerId worker, Duration lease) { return store_->beat(worker, lease); }
    Status refuse_taken_id(text::WorkerId id) { return others_.refuse_taken_id(id); }
    // Follows others; lines of lost workers, but for `ours`, wait again.
    Status follow_others(std::set<text::WorkerId> ours);
    Instant looked() const { return others_.looked(); }
    std::optional<Instant> next_look() const { return others_.next_look(); }
    Status settle_if_due();

    // Of workers that left: their last ends are recorded, then their lines wait again, and their signs go
    // last: what could not be recorded is found when their leases are over.
    void add_left(text::WorkerId worker, std::unique_ptr<replica::LineTaker> lines);
    bool has_left() const { return !left_.empty(); }
    Status record_left();
    Status close();

  private:
    Status record_left(text::WorkerId worker, replica::LineTaker& lines);

    store::ListPlace place_;
    std::function<void(const std::string&)> say_;
    std::unique_ptr<store::ListStore> store_;
    replica::SharedList shared_;
    replica::OtherWorkers others_;
    bool open_ = false;

    bool usable_ = true;
    std::optional<Duration> pause_;  // after the last error
    Instant try_at_{};

    std::map<text::WorkerId, std::unique_ptr<replica::LineTaker>> left_;
};

}  // namespace wq::shared_list::source
