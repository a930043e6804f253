// The other workers of a list, by their signs of life: which ids are taken, and who is lost.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/replica/shared_list.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::replica {

class OtherWorkers {
  public:
    // `say` gets a line for each worker that is lost.
    OtherWorkers(ListStore& store, SharedList& list, std::function<void(const std::string&)> say);

    // Error usage: a worker with this id gave a sign within its lease.
    Status refuse_taken_id(text::WorkerId id);

    // Lines of lost workers wait again, and their signs are removed. `ours` are never lost.
    //
    // A worker is lost if its sign is older than its lease at two looks, between which one that lives gives a
    // sign: after a step of the clock, or if all machines slept, every sign looks old at first.
    Status look(const std::set<text::WorkerId>& ours);
    Instant looked() const { return looked_; }
    // A look can tell then whether one that seems to be lost is so; nullopt: none seems to be.
    std::optional<Instant> next_look() const;

  private:
    Status release(const store::Sign& sign);

    ListStore& store_;
    SharedList& list_;
    std::function<void(const std::string&)> say_;
    Instant looked_{};
    std::map<text::WorkerId, Instant> seeming_;  // lost; a look after that can tell
};

}  // namespace wq::shared_list::replica
