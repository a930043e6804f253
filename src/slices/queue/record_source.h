// Opens slices of works to read their records: in this process (slice_works.h), or in the one that has the
// works (remote_records.h).
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "slices/sources/record_reader.h"
#include "slices/sources/survey.h"
#include "work_queue/slice_queue.h"

namespace wq::slices::queue {

// What a reader reads.
struct ReadAs {
    sources::Kind kind = sources::Kind::lines;
    std::uint64_t record_bytes = 0;  // of records
};

enum class WorkIs : std::uint8_t { nothing, file, other };  // other: a folder, for example

class RecordSource {
  public:
    virtual ~RecordSource() = default;
    // What the slice's work is where the works are.
    virtual Result<WorkIs> look(const Slice& slice) = 0;
    // Where the slice's records begin, for RecordReader::move_to(). Error: nobody can say it any more.
    virtual Result<sources::Place> place_of(const Slice& slice) = 0;
    // Error bad_input: it cannot be read, or changed since it was counted. Error usage: it was cut into other
    // records than these.
    virtual Result<std::unique_ptr<sources::RecordReader>> open(const Slice& slice, const ReadAs& as) = 0;
};

}  // namespace wq::slices::queue
