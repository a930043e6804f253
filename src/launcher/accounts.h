// What of the slice is free: cores and GPUs by name, memory and disk by amount.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/resources.h"
#include "launcher/launcher.h"
#include "machine/cpu_mask.h"
#include "machine/placement.h"

namespace wq::launcher {

// What one running task holds.
struct Holding {
    core::Resources amount;
    machine::Seat seat;  // indexes into Slice::cores and Slice::gpus
};

class Accounts {
  public:
    explicit Accounts(machine::Slice slice);

    // Whether the slice could hold it if nothing ran: a task that does not would block the queue for ever.
    bool ever_fits(const core::Resources& give) const { return give.fits_in(whole_); }
    // Takes it if it fits now.
    std::optional<Holding> take(const core::Resources& give);
    // The same for one behind `head`, which has to wait: it takes nothing of what the head waits for, and
    // leaves it all else that it needs. So the head starts as early as if nothing went past it.
    std::optional<Holding> take_behind(const core::Resources& head, const core::Resources& give);
    void give_back(const Holding& holding);

    // Not empty: the mask that the task is to be bound to. Empty: it may use all cores of the slice.
    machine::CpuMask mask(const Holding& holding) const;
    const machine::CpuMask& all_cores() const { return all_; }  // empty: not this machine's
    // "0,4,1,5": OS indexes of the units of its cores, whatever it is bound to; empty where nobody says which
    // they are.
    std::string cores_list(const Holding& holding) const;
    std::string visible_gpus(const Holding& holding) const;  // "0,2"; empty for none
    const std::string& gpu_variable() const { return slice_.gpu_variable; }
    bool any_core_free() const { return free_.cores > 0; }

  private:
    struct Lack {  // what of a task's needs has no room
        bool cores = false;
        bool memory = false;
        bool disk = false;
        bool gpus = false;
        bool operator==(const Lack&) const = default;
    };
    Lack lack(const core::Resources& give) const;

    machine::Slice slice_;
    core::Resources whole_;
    core::Resources free_;
    machine::Placement placement_;
    machine::CpuMask all_;
};

}  // namespace wq::launcher
