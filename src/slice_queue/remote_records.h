// Records of works for a worker: it reads a file itself if it has the same one (equal size and time of
// change, as on a shared file system); otherwise the process that gives the slices reads it, and the bytes
// travel.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "feed/questions.h"
#include "slice_queue/record_source.h"

namespace wq::slice_queue {

class RemoteRecords final : public RecordSource {
  public:
    explicit RemoteRecords(std::shared_ptr<feed::Questions> giver) : giver_(std::move(giver)) {}
    Result<sources::Place> place_of(const Slice& slice) override;
    Result<std::unique_ptr<sources::RecordReader>> open(const Slice& slice, const ReadAs& as) override;

  private:
    std::shared_ptr<feed::Questions> giver_;
};

}  // namespace wq::slice_queue
