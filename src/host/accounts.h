// What of the slice is free: cores and GPUs by name, memory and disk by amount.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/resources.h"
#include "host/cpu_mask.h"
#include "host/launcher.h"

namespace wq::host {

// What one running task holds.
struct Holding {
    core::Resources amount;
    std::vector<std::size_t> cores;  // indexes into Slice::cores
    std::vector<std::size_t> gpus;   // indexes into Slice::gpus
};

class Accounts {
  public:
    explicit Accounts(Slice slice);

    // Whether the slice could hold it if nothing ran: a task that does not would block the queue for ever.
    bool ever_fits(const core::Resources& give) const { return give.fits_in(whole_); }
    // Takes it if it fits now.
    std::optional<Holding> take(const core::Resources& give);
    void give_back(const Holding& holding);

    // Not empty: the mask that the task is to be bound to. Empty: it may use all cores of the slice.
    CpuMask mask(const Holding& holding) const;
    const CpuMask& all_cores() const { return all_; }
    std::string visible_gpus(const Holding& holding) const;  // "0,2"; empty for none
    const std::string& gpu_variable() const { return slice_.gpu_variable; }
    bool any_core_free() const { return free_.cores > 0; }

  private:
    Slice slice_;
    core::Resources whole_;
    core::Resources free_;
    std::vector<bool> free_cores_;
    std::vector<bool> free_gpus_;
    CpuMask all_;
};

}  // namespace wq::host
