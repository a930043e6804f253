// Statistics of a queue, in the process that gives the slices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/time.h"
#include "records/logs/slice_summary.h"
#include "slices/claims/line_threads.h"
#include "slices/queue/pass.h"

namespace wq::slices::queue {

class Statistics {
  public:
    // `pass` must outlive it.
    explicit Statistics(const Pass& pass) : pass_(pass), order_(pass.order()) {}

    // A commit that counts; on any thread. Kept until there is a summary: other ranks may commit before.
    void record(std::uint32_t rank, const claims::Timed& each);
    // Writes them from now on. `report` is called now and then, until finish(). Throws SetupError.
    void open(const SliceSummaryOptions& options, std::function<claims::GiverReport()> report);
    void write_now();  // all that is recorded, if there is a summary
    void finish();     // with a last sample

  private:
    records::logs::SliceSample sample(const claims::GiverReport& now) const;
    records::hdf5::SliceRow row_of(std::uint32_t rank, const claims::Timed& each);

    const Pass& pass_;
    const WallMicros started_ = wall_now();
    std::mutex mutex_;  // of all that follows
    plan::Order order_;
    std::unique_ptr<records::logs::SliceSummary> summary_;
    std::vector<records::hdf5::SliceRow> early_rows_;
};

}  // namespace wq::slices::queue
