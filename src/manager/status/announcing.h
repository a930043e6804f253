// When a manager announces its queue: every 30 s, and within 2 s after the number of workers has changed,
// the first task has begun to wait, or none waits any more.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/model/manager_stats.h"
#include "manager/status/lister.h"

namespace wq::manager::status {

class Announcing {
  public:
    // Gets what makes the record; it need not call it. Returns false if it cannot take one now. Gets an empty
    // function 2 s later: what became of the record can be said.
    using Announce = std::function<bool(const std::function<std::string()>& record)>;

    // `announce` may be empty: then nothing is ever due.
    Announcing(Lister& lister, Announce announce) : lister_(lister), announce_(std::move(announce)) {}

    // Each turn of the manager's loop. Returns when to call it next.
    std::optional<Instant> announce_if_due(const engine::model::ManagerStats& stats, Instant now);
    void changed() { changed_ = true; }  // something else in the record

  private:
    Lister& lister_;
    const Announce announce_;
    bool changed_ = true;
    bool settled_ = true;  // it got the empty function
    std::int64_t workers_ = 0;
    bool has_waiting_ = false;
    Instant last_{};
};

}  // namespace wq::manager::status
