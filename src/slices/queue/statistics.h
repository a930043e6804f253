// Statistics of a queue, in the process that gives the slices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/time.h"
#include "slices/claims/lines.h"
#include "records/logs/slice_summary.h"
#include "slices/queue/pass.h"

namespace wq::slice_queue {

class Statistics {
  public:
    // `pass` must outlive it.
    explicit Statistics(const Pass& pass) : pass_(pass), order_(pass.order()) {}

    // A commit that counts; on any thread. Kept until there is a summary: other ranks may commit before.
    void record(std::uint32_t rank, const feed::Timed& each);
    // Writes them from now on. `report` is called now and then, until finish(). Throws SetupError.
    void open(const SliceSummaryOptions& options, std::function<feed::GiverReport()> report);
    void write_now();  // all that is recorded, if there is a summary
    void finish();     // with a last sample

  private:
    logs::SliceSample sample(const feed::GiverReport& now) const;
    stats::SliceRow row_of(std::uint32_t rank, const feed::Timed& each);

    const Pass& pass_;
    const WallMicros started_ = wall_now();
    std::mutex mutex_;  // of all that follows
    slices::Order order_;
    std::unique_ptr<logs::SliceSummary> summary_;
    std::vector<stats::SliceRow> early_rows_;
};

}  // namespace wq::slice_queue
