// A sealed batch as both ends see it: tickets are places in it, tasks are ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "taskfile/sources.h"
#include "wire/messages.h"

namespace wq::app {

class BatchView {
  public:
    explicit BatchView(const wire::SealedBatch& sealed);

    BatchId id() const { return id_; }
    std::uint64_t count() const { return count_; }
    TaskId task(std::uint64_t ticket) const;  // ticket < count()
    bool has_template() const { return command_.has_value(); }
    // Where it has one: the command of a ticket, and its index.
    std::string command(std::uint64_t ticket) const;
    std::string index(std::uint64_t ticket) const;

  private:
    struct Part {
        std::uint64_t first_ticket;
        Interval tasks;
    };
    BatchId id_;
    std::vector<Part> parts_;
    std::uint64_t count_ = 0;
    std::optional<taskfile::CommandTemplate> command_;
    taskfile::IndexSet indexes_;
    TaskId first_item_;
};

// The text of one ticket, as it travels and lies in the node's segment.
struct TicketText {
    std::string command;
    std::vector<std::pair<std::string, std::string>> variables;
    std::uint64_t environment_position = 0;
    std::optional<wire::Call> call;  // instead of the command
};
std::string encode(const TicketText& text);
std::optional<TicketText> decode_ticket_text(std::string_view bytes);

}  // namespace wq::app
