// The other workers of a list, by their signs of life: which ids are taken, and who is lost.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/store/list_store.h"
#include "shared_list/replica/shared_list.h"

namespace wq::shared_list {

class OtherWorkers {
  public:
    // `say` gets a line for each worker that is lost.
    OtherWorkers(ListStore& store, SharedList& list, std::function<void(const std::string&)> say);

    // Error usage: a worker with this id gave a sign within its lease.
    Status refuse_taken_id(marked_list::WorkerId id);

    // Lines of lost workers wait again, and their signs are removed. `ours` are never lost.
    //
    // A worker is lost if its sign is older than its lease at two looks, between which one that lives gives a
    // sign: after a step of the clock, or if all machines slept, every sign looks old at first.
    Status look(const std::set<marked_list::WorkerId>& ours);
    Instant looked() const { return looked_; }
    // A look can tell then whether one that seems to be lost is so; nullopt: none seems to be.
    std::optional<Instant> next_look() const;

  private:
    Status release(const list_store::Sign& sign);

    ListStore& store_;
    SharedList& list_;
    std::function<void(const std::string&)> say_;
    Instant looked_{};
    std::map<marked_list::WorkerId, Instant> seeming_;  // lost; a look after that can tell
};

}  // namespace wq::shared_list
