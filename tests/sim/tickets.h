// Where ranks claim tickets: the rest of each batch at rank 0, and a word per node that is refilled from it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "engine/model/events.h"

namespace wq::sim {

class TicketBoard {
  public:
    void seal(const engine::model::Seal& batch) { batches_[batch.batch] = {batch.tasks, {}}; }
    // Rank 0 gives no more; a node's word is revoked when the message arrives there.
    void revoke(BatchId batch) { batches_[batch].left = {}; }
    void poison(BatchId batch, std::uint32_t node) { batches_[batch].words[node] = {}; }
    void lose_node(std::uint32_t node) {
        for (auto& [id, batch] : batches_) batch.words[node] = {};
    }
    std::optional<TaskId> claim(BatchId id, std::uint32_t node) {
        Batch& batch = batches_[id];
        IntervalSet& word = batch.words[node];
        if (word.empty())
            if (const auto refill = batch.left.take_front(std::max<std::uint64_t>(batch.left.count() / 4, 1)))
                word.insert(*refill);
        const auto ticket = word.take_front(1);
        if (!ticket) return std::nullopt;
        claimed_.insert(*ticket);
        return TaskId(ticket->first);
    }

    // Whether any rank, alive or lost, ever had its ticket, which was attempt 1.
    bool was_claimed(TaskId task) const { return claimed_.contains(task.value()); }

  private:
    struct Batch {
        IntervalSet left;
        std::map<std::uint32_t, IntervalSet> words;
    };
    std::map<BatchId, Batch> batches_;
    IntervalSet claimed_;
};

}  // namespace wq::sim
