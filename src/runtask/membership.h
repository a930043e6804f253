// A worker's place in one list: it joins, gives signs of life, looks after other workers, and leaves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "list_store/list_place.h"
#include "marked_list/marked_line.h"
#include "shared_list/line_taker.h"
#include "shared_list/shared_list.h"

namespace wq::runtask {

struct Joining {
    list_store::ListPlace place;
    std::string name;                           // of the worker
    std::optional<marked_list::WorkerId> id;    // none: the next one
    Duration lease = std::chrono::minutes(10);  // 0: never
};

class Membership {
  public:
    // `beaten`: called when signs were given while the list's lock is waited for; lapses() is later then.
    Membership(Joining joining, std::function<void(const std::string&)> say, std::function<void()> beaten);

    // Opens the list and joins; after `unreachable`, call it again.
    Status join();
    bool joined() const { return beaten_.has_value(); }
    marked_list::WorkerId id() const { return *id_; }
    const list_store::ListPlace& place() const { return joining_.place; }
    std::string name() const { return store_->name(); }  // of the list
    shared_list::SharedList& list() { return list_; }
    shared_list::LineTaker& lines() { return *lines_; }  // of one that has joined

    // Does what is due: a sign of life, the release of lines of lost workers, the rewriting of the list.
    // `idle`: others are looked after now.
    Status keep(Instant now, bool idle);
    Instant next(Instant now) const;                                // when something is due
    std::optional<std::string> state() { return store_->state(); }  // of the list, see ListStore
    // From then on other workers may take the lines that this one runs. A tenth of the lease is left for
    // clocks that differ. nullopt: never.
    std::optional<Instant> lapses() const;

    // Lines that it still runs, or began without learning it, wait again.
    Status leave();

  private:
    Status refuse_taken_id();
    Status beat(Instant now);
    Status release_lost(Instant now);

    Joining joining_;
    std::function<void(const std::string&)> say_;
    std::unique_ptr<list_store::ListStore> store_;
    shared_list::SharedList list_;
    bool open_ = false;
    std::optional<marked_list::WorkerId> id_;
    std::optional<shared_list::LineTaker> lines_;
    std::optional<Instant> beaten_;
    Instant others_seen_{};
};

}  // namespace wq::runtask
