// The cores and GPUs of tasks: a value that keeps track of what is free. No clock, no process, no hwloc.
//
// Amounts are in thousandths: 2500 is two whole cores, which belong to the task alone, and half of a third,
// which it shares with other fractions. Whole cores are chosen close together (core_pool.h). A fraction goes
// to the fullest core with room for it, so that few cores are shared; among equals to the first that became
// shared, as the manager assumes too (engine/model/allocation.h). GPUs likewise; a task with GPUs gets cores
// on their nodes as far as these are free, each GPU's share on its own node.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "node/machine/core_pool.h"

namespace wq::node::machine {

inline constexpr std::int64_t one_whole = 1000;

struct Ask {
    std::int64_t cores = 0;  // thousandths; negative counts as 0
    std::int64_t gpus = 0;
};

// A fraction of one core or one GPU.
struct Part {
    std::size_t index = 0;
    std::int64_t thousandths = 0;  // 0: none
};

struct Seat {
    std::vector<std::size_t> cores;  // ascending; includes the shared one
    std::vector<std::size_t> gpus;   // same
    Part core_part;
    Part gpu_part;
};

class Placement {
  public:
    // `gpu_nodes`: the nearest CoreGroups::node of each GPU; -1: unknown.
    explicit Placement(std::vector<CoreGroups> cores, std::vector<int> gpu_nodes = {});

    // Whether this many thousandths of one kind fit now.
    bool fits_cores(std::int64_t cores) const;
    bool fits_gpus(std::int64_t gpus) const;
    // nullopt: it does not fit now.
    std::optional<Seat> take(const Ask& ask);
    // Takes a Seat that take() returned, once.
    void give_back(const Seat& seat);

    const CorePool& pool() const { return pool_; }  // whole cores
    std::int64_t free_cores() const;                // thousandths, including shared cores
    std::int64_t free_gpus() const;

  private:
    static constexpr std::size_t no_package = static_cast<std::size_t>(-1);
    struct Near {                        // GPUs of one node
        std::vector<std::size_t> nodes;  // in the pool; empty: unknown
        std::vector<std::size_t> gpus;
        std::size_t package = no_package;
    };
    struct Wish {  // cores wanted on the nodes of the chosen GPUs
        const Near* near;
        std::size_t gpus;
    };

    bool cores_fit(std::size_t whole, std::int64_t part) const;
    bool any_shared_has(std::int64_t part) const;
    bool gpus_fit(std::size_t whole, std::int64_t part) const;
    const Near& near_of(std::size_t gpu) const;
    std::vector<Wish> take_gpus(Seat& seat, std::size_t whole, std::int64_t part, std::size_t cores);
    std::size_t free_gpus_of(const Near& near) const;
    std::size_t free_cores_of(const Near& near) const;
    struct Search;
    const Near* best_near(const Search& search) const;
    void take_cores(Seat& seat, std::size_t whole, std::int64_t part, const std::vector<Wish>& wishes);
    void take_near(Seat& seat, std::size_t whole, const std::vector<Wish>& wishes);
    void take_core_part(Seat& seat, std::int64_t part, const std::vector<Wish>& wishes);

    CorePool pool_;
    std::vector<std::int64_t> core_left_;    // of shared cores and free ones; 0: fully used
    std::vector<std::size_t> shared_cores_;  // in the order in which they became shared
    std::vector<std::int64_t> gpu_left_;
    std::vector<std::size_t> shared_gpus_;
    std::vector<Near> nears_;
};

}  // namespace wq::node::machine
