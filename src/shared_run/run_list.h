// One shared list of a run, with the workers of the run that have joined it: their signs of life, their
// farewells, and what is done for lost workers of others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "list_store/list_place.h"
#include "shared_list/line_taker.h"
#include "shared_list/shared_list.h"

namespace wq::shared_run {

class RunList {
  public:
    using Say = std::function<void(const std::string&)>;
    RunList(list_store::ListPlace place, std::unique_ptr<list_store::ListStore> store, Duration lease,
            Say say);

    const list_store::ListPlace& place() const { return place_; }
    shared_list::SharedList& list() { return list_; }
    const shared_list::SharedList& list() const { return list_; }
    bool is_open() const { return open_; }
    Status open();

    // Error usage: `wanted` is the id of a worker that gives signs of life.
    Result<marked_list::WorkerId> join(const std::string& name, std::optional<marked_list::WorkerId> wanted);
    // Its ends are recorded by keep(), and what else it has begun is lost; then its sign is removed.
    void leave(marked_list::WorkerId worker, std::vector<marked_list::End> ends);

    // Signs of life, farewells and the rewriting of the file, as they are due; `looks`: also what others did.
    Status keep(Instant now, bool looks);
    // When keep() has something to do, if nothing happens before; nullopt: never.
    std::optional<Instant> next() const;
    // From then on others may take the lines of this worker. A tenth of the lease is left for clocks that
    // differ. nullopt: never.
    std::optional<Instant> lapses(marked_list::WorkerId worker) const;

    // After an error the list is left alone for a while: not at first, then for 1 s to 30 s. True: it is the
    // first error.
    bool note_trouble(Instant now);
    // Whether there was trouble, which is over.
    bool take_trouble_over();
    bool is_usable(Instant now) const { return !trouble_ || now >= trouble_->again_at; }

    // Records what is left to record. Call it again after an error.
    Status close();

  private:
    Status beat(Instant now);
    Status bid_farewell();
    Status release_lost();
    Duration beat_interval() const;

    list_store::ListPlace place_;
    std::unique_ptr<list_store::ListStore> store_;
    Duration lease_;
    Say say_;
    shared_list::SharedList list_;
    struct Trouble {
        Instant again_at{};
        Duration pause{0};
    };
    bool open_ = false;
    std::optional<Trouble> trouble_;
    std::map<marked_list::WorkerId, std::optional<Instant>> members_;  // when each gave its last sign
    std::map<marked_list::WorkerId, std::vector<marked_list::End>> left_;
};

}  // namespace wq::shared_run
