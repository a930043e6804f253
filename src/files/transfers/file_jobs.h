// Background jobs of one owner: the callback of a job is dropped once the owner is gone.
#pragma once

#include <memory>
#include <utility>

#include "base/background.h"

namespace wq::files::transfers {

class FileJobs {
  public:
    explicit FileJobs(Background& background) : background_(background) {}

    void post(Background::Job job) {
        background_.post([job = std::move(job), alive = std::weak_ptr(alive_)]() -> Background::Then {
            Background::Then then = job();
            if (!then) return {};
            return [then = std::move(then), alive] {
                if (alive.lock()) then();
            };
        });
    }

  private:
    Background& background_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace wq::files::transfers
