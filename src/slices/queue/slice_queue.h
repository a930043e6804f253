// What the consumers of a SliceQueue use of it: producers, readers, pipelines.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "slices/queue/slice_works.h"
#include "work_queue/slice_queue.h"

namespace wq {

class SliceFeed {
  public:
    virtual ~SliceFeed() = default;
    // Waits. Commits `done`, and no other. nullopt: the end, or `stop` is requested. Throws
    // std::runtime_error if rank 0 is lost.
    virtual std::optional<Slice> take_after(const std::optional<Slice>& done,
                                            const std::stop_token& stop) = 0;
    virtual bool commit(const Slice& slice) = 0;
    // They were taken and are not committed: they are for others, or for whoever takes here next.
    virtual void give_back(const std::vector<Slice>& slices) = 0;
    virtual bool by_hand() const = 0;  // consumers commit nothing themselves
    virtual bool at_most_once() const = 0;
    virtual slices::queue::RecordSource& records() = 0;
};

}  // namespace wq
