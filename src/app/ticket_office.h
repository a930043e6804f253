// The manager's end of tickets: announces sealed batches and hands ranges of them to nodes that ask.
#pragma once

#include <cstdint>
#include <optional>

#include "app/batch_counter.h"
#include "app/batch_view.h"
#include "app/task_texts.h"
#include "core/events.h"
#include "wire/messages.h"

namespace wq::app {

class TicketOffice {
  public:
    // `counters`: where nodes draw ranges of batches that have a template; null: they ask by message for all.
    explicit TicketOffice(const TaskTexts& tasks, transport::Counters* counters = nullptr)
        : tasks_(tasks), counter_(counters) {}

    // The announcement of a new batch; the one before is forgotten.
    wire::SealedBatch open(const core::Seal& seal);
    // No more is handed out of it.
    void revoke(BatchId batch);
    void close(BatchId batch);

    // The next range for one of `nodes` nodes, of at least `least` tickets where so many are left: a part of
    // what is left at first, little at the end, so that nodes end together. Of a batch with a counter it is
    // drawn from there.
    wire::Tickets next(BatchId batch, std::uint64_t nodes, std::uint64_t least);
    // The texts of a range that a rank has but not the texts of.
    wire::Tickets texts(const wire::WantTexts& wanted) const;

    // Bytes of text in one answer, but for a single ticket: a fill must fit several times into a rank's area.
    static constexpr std::size_t most_text_bytes = 64u << 10;

  private:
    std::uint64_t add_texts(wire::Tickets& tickets, std::uint64_t most) const;

    const TaskTexts& tasks_;
    BatchCounter counter_;
    std::optional<BatchView> view_;
    bool by_counter_ = false;
    std::uint64_t next_ = 0;  // by counter: when we last looked
};

}  // namespace wq::app
