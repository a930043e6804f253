// Keeps account of the free resources of the slice: cores and GPUs by name, memory and disk by amount.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/resources.h"
#include "node/launcher/launcher_wire.h"
#include "node/machine/cpu_mask.h"
#include "node/machine/layout.h"
#include "node/machine/placement.h"

namespace wq::node::launcher {

// The resources that one running task holds.
struct Holding {
    engine::model::Resources amount;
    machine::Seat seat;  // indexes into NodeSlice::cores and NodeSlice::gpus
};

class Accounts {
  public:
    explicit Accounts(machine::NodeSlice slice);

    // Whether the slice could hold it if nothing ran. A task that never fits would block the queue forever.
    bool ever_fits(const engine::model::Resources& give) const { return give.fits_in(whole_); }
    // Allocates it if it fits now.
    std::optional<Holding> take(const engine::model::Resources& give);
    // The same for a task behind `head`, which has to wait. It takes nothing that the head waits for, and
    // leaves enough of all else that the head needs, so that the head starts no later.
    std::optional<Holding> take_behind(const engine::model::Resources& head,
                                       const engine::model::Resources& give);
    void give_back(const Holding& holding);

    // The mask to bind the task to; empty if it may use all cores of the slice.
    machine::CpuMask mask(const Holding& holding) const;
    const machine::CpuMask& all_cores() const { return all_; }  // empty: not this machine's
    // "0,4,1,5": OS indexes of the units of its cores, whether it is bound or not; empty if they are unknown.
    std::string cores_list(const Holding& holding) const;
    std::string visible_gpus(const Holding& holding) const;  // "0,2"; empty for none
    const std::string& gpu_variable() const { return slice_.gpu_variable; }
    bool any_core_free() const { return free_.cores > 0; }

  private:
    struct Lack {  // which of a task's needs do not fit
        bool cores = false;
        bool memory = false;
        bool disk = false;
        bool gpus = false;
        bool operator==(const Lack&) const = default;
    };
    Lack lack(const engine::model::Resources& give) const;

    machine::NodeSlice slice_;
    engine::model::Resources whole_;
    engine::model::Resources free_;
    machine::Placement placement_;
    machine::CpuMask all_;
};

// Queues orders that wait for their start, in order of arrival.
class OrderQueue {
  public:
    struct Next {
        std::size_t position = 0;
        Holding holding;
    };

    bool empty() const { return orders_.empty(); }
    std::size_t size() const { return orders_.size(); }
    const process::OrderMessage& front() const { return orders_.front(); }
    const process::OrderMessage& at(std::size_t position) const { return orders_[position]; }

    void push_back(process::OrderMessage message);
    void push_front(process::OrderMessage message);
    process::OrderMessage pop_front() { return take(0); }
    process::OrderMessage pop_back() { return take(orders_.size() - 1); }
    process::OrderMessage take(std::size_t position);
    std::optional<process::OrderMessage> take(TaskId task, Attempt attempt);  // nullopt: it does not wait

    // The first order that fits now, and what `accounts` gave it. An order behind the head starts only if the
    // head starts no later for it. nullopt: none fits. The queue must not be empty.
    std::optional<Next> next(Accounts& accounts) const;
    // Serial numbers of the orders before this position.
    std::vector<std::uint64_t> ahead_of(std::size_t position) const;

  private:
    std::optional<Next> next_behind_head(Accounts& accounts) const;

    std::deque<process::OrderMessage> orders_;
    // True: all orders need the same amounts, so if the head does not fit, none does. False also after the
    // orders that differed have left.
    bool alike_ = true;
};

}  // namespace wq::node::launcher
