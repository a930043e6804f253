// Collects reports for the rank in batches, so that a short task does not cost the rank a wake-up.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "node/launcher/launcher_wire.h"

namespace wq::node::launcher {

class ReportBuffer {
  public:
    void add(std::uint64_t serial, Report report, Instant now);
    void note_unreported(Instant now);  // a start: reported only if the batch is sent before the task ends

    bool empty() const { return count_ == 0 && !first_; }
    // The batch is full, or its oldest part has waited long enough.
    bool due(Instant now) const;
    Instant due_at() const { return *first_ + longest_delay; }

    // Writes the batch to the socket. False if the rank is gone.
    bool flush(int socket);
    bool stuck() const { return !leaving_.empty(); }  // the rank does not read as fast as tasks write
    bool congested() const { return leaving_.size() > most_leaving; }

  private:
    static constexpr Duration longest_delay = std::chrono::milliseconds(10);
    static constexpr std::size_t most_reports = 100;
    static constexpr std::size_t most_bytes = 64u << 10;
    static constexpr std::size_t most_leaving = 64u << 20;

    std::string batch_;
    SendBuffer leaving_;
    std::size_t count_ = 0;
    std::optional<Instant> first_;
};

}  // namespace wq::node::launcher
