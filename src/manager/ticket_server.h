// Announces sealed batches of tickets, and sends ranges of them to nodes that ask.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/model/events.h"
#include "manager/task_table.h"
#include "net/messages/messages.h"
#include "ranks/tickets/sealed_batch.h"

namespace wq::manager {

class TicketServer {
  public:
    // `counters`: nodes claim ranges of batches with a template from them; null: nodes ask for all by
    // message.
    explicit TicketServer(const TaskTexts& tasks, ranks::tickets::Counters* counters = nullptr)
        : tasks_(tasks), counter_(counters) {}

    // A rank of this host with this many cores claims tickets; left(): it no longer does.
    void joined(const std::string& host, std::int64_t cores) { cores_[host] += cores; }
    void left(const std::string& host, std::int64_t cores);

    // Returns the announcement of a new batch, and forgets the previous batch.
    net::messages::SealedBatch open(const engine::model::Seal& seal);
    // No more tickets of it are sent.
    void revoke(BatchId batch);
    void close(BatchId batch);

    // Returns the next range for a node, at least one ticket per core while enough are left. Ranges are large
    // at first and small at the end, so that nodes end together. A batch with a counter claims it from the
    // counter.
    net::messages::Tickets next(BatchId batch, const std::string& host);
    // Returns the texts of a range that a rank has without texts.
    net::messages::Tickets texts(const net::messages::WantTexts& wanted) const;

    // Maximum bytes of text in one answer, except for a single ticket: several must fit into a rank's area.
    static constexpr std::size_t most_text_bytes = 64u << 10;

  private:
    std::uint64_t nodes() const { return cores_.empty() ? 1 : cores_.size(); }
    std::uint64_t add_texts(net::messages::Tickets& tickets, std::uint64_t most) const;

    const TaskTexts& tasks_;
    std::map<std::string, std::int64_t> cores_;  // by host, for ranks that claim tickets
    ranks::tickets::BatchCounter counter_;
    std::optional<ranks::tickets::BatchView> view_;
    bool by_counter_ = false;
    std::uint64_t next_ = 0;  // with a counter: its value when we last looked
};

}  // namespace wq::manager
