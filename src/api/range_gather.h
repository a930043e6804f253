// Calls of ranges that succeeded, on their way to the logs: those of one range and worker within a second
// become one record, so that a log grows with the time and the workers, not with the calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "records/records.h"

namespace wq::api {

class RangeGather {
  public:
    // `range`: any number that is its own.
    void add(std::uint64_t range, const records::RangeRecord& record);
    // When take() should come; nothing: there is none to take.
    std::optional<Instant> due() const { return due_; }
    std::vector<records::RangeRecord> take();

  private:
    std::map<std::pair<std::uint64_t, std::uint32_t>, records::RangeRecord> gathered_;  // by range and worker
    std::optional<Instant> due_;
};

}  // namespace wq::api
