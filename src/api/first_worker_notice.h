// Tells the user how to start a worker, once, if tasks have waited for the first one for 10 s: without it, a
// program that nobody gave a worker waits without a word.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "engine/model/manager_stats.h"

namespace wq::api {

class FirstWorkerNotice {
  public:
    // `how` to start a worker; "": workers come by themselves, and nothing is ever said.
    explicit FirstWorkerNotice(std::string how) : how_(std::move(how)) {}
    // Another way, unless it was said or is not needed any more.
    void change(std::string how) {
        if (!how_.empty()) how_ = std::move(how);
    }

    // Returns when to look again; nullopt: with the next event.
    std::optional<Instant> look(const engine::model::ManagerStats& stats, Instant now,
                                const std::function<void(const std::string&)>& say);

  private:
    std::string how_;  // "": it was said, or is not needed any more
    std::optional<Instant> waits_since_;
};

}  // namespace wq::api
