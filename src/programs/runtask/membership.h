// A worker's place in one list: it joins, gives signs of life, looks after other workers, and leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/replica/line_taker.h"
#include "shared_list/replica/other_workers.h"
#include "shared_list/replica/shared_list.h"
#include "shared_list/store/list_place.h"
#include "shared_list/text/marked_line.h"

namespace wq::programs::runtask {

struct Joining {
    shared_list::store::ListPlace place;
    std::string name;                               // of the worker
    std::optional<shared_list::text::WorkerId> id;  // none: the next one
    Duration lease = std::chrono::minutes(10);      // 0: never
};

class Membership {
  public:
    // `beaten`: called when signs were given while the list's lock is waited for; the lease is longer then.
    Membership(Joining joining, std::function<void(const std::string&)> say, std::function<void()> beaten);

    // Opens the list and joins; after `unreachable`, call it again.
    Status join();
    bool joined() const { return lease_.last().has_value(); }
    shared_list::text::WorkerId id() const { return *id_; }
    const shared_list::store::ListPlace& place() const { return joining_.place; }
    std::string name() const { return store_->name(); }  // of the list
    shared_list::replica::SharedList& list() { return list_; }
    shared_list::replica::LineTaker& lines() { return *lines_; }  // of one that has joined

    enum class LookAtOthers : std::uint8_t { if_due, always };
    // Does what is due: a sign of life, the release of lines of lost workers, the rewriting of the list.
    Status keep(Instant now, LookAtOthers look);
    Instant next(Instant now) const;                                // when something is due
    std::optional<std::string> state() { return store_->state(); }  // of the list, see ListStore
    // When other workers may take the lines that this one runs.
    const shared_list::replica::Lease& lease() const { return lease_; }
    // When lines of workers that seem to be lost may be free; nullopt: none seems to be.
    std::optional<Instant> next_look_at_lost() const { return others_.next_look(); }

    // Lines that it still runs, or began without learning it, wait again.
    Status leave();

  private:
    Status beat(Instant now);
    Instant next_look() const;

    Joining joining_;
    std::function<void(const std::string&)> say_;
    std::unique_ptr<shared_list::store::ListStore> store_;
    shared_list::replica::SharedList list_;
    bool open_ = false;
    std::optional<shared_list::text::WorkerId> id_;
    std::optional<shared_list::replica::LineTaker> lines_;
    shared_list::replica::Lease lease_;
    shared_list::replica::OtherWorkers others_;
};

}  // namespace wq::programs::runtask
