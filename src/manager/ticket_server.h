// The manager's end of tickets: announces sealed batches and hands ranges of them to nodes that ask.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/events.h"
#include "manager/task_texts.h"
#include "tickets/batch_counter.h"
#include "tickets/batch_view.h"
#include "wire/messages.h"

namespace wq::manager {

class TicketServer {
  public:
    // `counters`: where nodes draw ranges of batches that have a template; null: they ask by message for all.
    explicit TicketServer(const TaskTexts& tasks, tickets::Counters* counters = nullptr)
        : tasks_(tasks), counter_(counters) {}

    // A rank of this host, with so many cores, claims tickets; or does no more.
    void joined(const std::string& host, std::int64_t cores) { cores_[host] += cores; }
    void left(const std::string& host, std::int64_t cores);

    // The announcement of a new batch; the one before is forgotten.
    wire::SealedBatch open(const core::Seal& seal);
    // No more is handed out of it.
    void revoke(BatchId batch);
    void close(BatchId batch);

    // The next range for a node, at least a ticket a core if that many are left: large at first, small at the
    // end, so that nodes end together. For a batch with a counter it is drawn from the counter.
    wire::Tickets next(BatchId batch, const std::string& host);
    // The texts of a range that a rank has but not the texts of.
    wire::Tickets texts(const wire::WantTexts& wanted) const;

    // Bytes of text in one answer, but for a single ticket: a fill must fit several times into a rank's area.
    static constexpr std::size_t most_text_bytes = 64u << 10;

  private:
    std::uint64_t nodes() const { return cores_.empty() ? 1 : cores_.size(); }
    std::uint64_t add_texts(wire::Tickets& tickets, std::uint64_t most) const;

    const TaskTexts& tasks_;
    std::map<std::string, std::int64_t> cores_;  // by host, of ranks that claim tickets
    tickets::BatchCounter counter_;
    std::optional<tickets::BatchView> view_;
    bool by_counter_ = false;
    std::uint64_t next_ = 0;  // by counter: when we last looked
};

}  // namespace wq::manager
