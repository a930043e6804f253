// Gathers successful calls of ranges for the logs. Calls of one range and worker within a second become one
// record, so a log grows with time and workers, not with calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "records/journal/records.h"

namespace wq::api {

class RangeGather {
  public:
    // `range`: a number unique to the range.
    void add(std::uint64_t range, const records::journal::RangeRecord& record);
    // When to call take(); nothing: there is nothing to take.
    std::optional<Instant> due() const { return due_; }
    std::vector<records::journal::RangeRecord> take();

  private:
    std::map<std::pair<std::uint64_t, std::uint32_t>, records::journal::RangeRecord>
        gathered_;  // by range and worker
    std::optional<Instant> due_;
};

}  // namespace wq::api
