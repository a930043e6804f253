// A worker: takes slices of a queue elsewhere, which it finds by a contact file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "slices/claims/questions.h"
#include "slices/queue/line_printer.h"
#include "slices/queue/pass.h"
#include "slices/queue/slice_works.h"

namespace wq::slices::queue {

// Throws SetupError.
std::unique_ptr<Member> open_as_worker(const SliceWorkerOptions& options);

// Records of works for a worker: it reads a file itself if it has the same one (equal size and time of
// change, as on a shared file system); otherwise the process that gives the slices reads it, and the bytes
// travel.
class RemoteRecords final : public RecordSource {
  public:
    // `say` gets a line about the first work that is read elsewhere.
    RemoteRecords(std::shared_ptr<claims::Questions> giver, Say say)
        : giver_(std::move(giver)), say_(std::move(say)) {}
    Result<WorkIs> inspect(const Slice& slice) override;
    Result<sources::RecordSpan> place_of(const Slice& slice) override;
    Result<std::unique_ptr<sources::RecordReader>> open(const Slice& slice, const ReadAs& as) override;

  private:
    std::shared_ptr<claims::Questions> giver_;
    Say say_;
    std::once_flag printed_;
    std::atomic<std::uint64_t> readers_ = 0;  // so many were opened there: their numbers
};

}  // namespace wq::slices::queue
