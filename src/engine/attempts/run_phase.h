// How far the run is: whether its task list has ended, and what keeps tasks from being dispatched.
#pragma once

#include <cstdint>

#include "engine/model/events.h"

namespace wq::engine::attempts {

class RunPhase {
  public:
    explicit RunPhase(std::uint32_t hold_until_workers) : hold_until_workers_(hold_until_workers) {}

    bool input_ended() const { return input_ended_; }
    bool stopping() const { return stopping_; }
    bool storage_trouble() const { return storage_trouble_; }
    bool may_dispatch() const { return !stopping_ && !storage_trouble_; }
    // So many workers must be connected at once before the first task is dispatched; 0: no need to wait.
    std::uint32_t hold_until_workers() const { return hold_until_workers_; }

    void end_input() { input_ended_ = true; }
    void stop() { stopping_ = true; }
    void note(const model::StorageTrouble& trouble) { storage_trouble_ = trouble.now; }
    void hold_until(std::uint32_t workers) { hold_until_workers_ = workers; }

  private:
    bool input_ended_ = false;
    bool stopping_ = false;
    bool storage_trouble_ = false;
    std::uint32_t hold_until_workers_;
};

}  // namespace wq::engine::attempts
