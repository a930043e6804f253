// A sealed batch as both sides see it: tickets are positions in it, tasks are ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "engine/tasklist/sources.h"
#include "net/messages/messages.h"

namespace wq::ranks::tickets {

class BatchView {
  public:
    explicit BatchView(const net::messages::SealedBatch& sealed);

    BatchId id() const { return id_; }
    std::uint64_t count() const { return count_; }
    TaskId task(std::uint64_t ticket) const;  // ticket < count()
    bool has_template() const { return command_ || call_; }
    // For a range of calls: a ticket's call; the calls of consecutive tasks.
    bool has_calls() const { return call_.has_value(); }
    const net::messages::Call& call() const { return *call_; }
    std::int64_t call_index(TaskId task) const;
    Interval tasks(std::uint64_t ticket, std::uint64_t most) const;
    // With a template: a ticket's command and index.
    std::string command(std::uint64_t ticket) const;
    std::string index(std::uint64_t ticket) const;

  private:
    struct Part {
        std::uint64_t first_ticket;
        Interval tasks;
    };
    const Part& part_of(std::uint64_t ticket) const;

    BatchId id_;
    std::vector<Part> parts_;
    std::uint64_t count_ = 0;
    std::optional<engine::tasklist::CommandTemplate> command_;
    engine::tasklist::IndexSet indexes_;
    TaskId first_item_;
    std::optional<net::messages::Call> call_;
    std::int64_t first_index_ = 0;
};

// The argument list of a call in a range: a msgpack array of the index.
std::string index_arguments(std::int64_t index);

// The text of one ticket, as it travels and as it is stored in the node's segment.
struct TicketText {
    std::string command;
    EnvironmentChanges variables;
    std::uint64_t environment_position = 0;
    std::optional<net::messages::Call> call;  // instead of the command
};
std::string encode(const TicketText& text);
std::optional<TicketText> decode_ticket_text(std::string_view bytes);

}  // namespace wq::ranks::tickets
