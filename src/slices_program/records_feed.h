// The records of slices as bytes.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "work_queue/slice_queue.h"
#include "work_queue/slice_readers.h"

namespace wq::slices_program {

class RecordsFeed {
  public:
    // `record_bytes`: as in the options of `slices`, which must outlive it.
    RecordsFeed(SliceQueue& slices, std::uint64_t record_bytes);
    // Writes the slice's records into the pipe until its reader has closed it: lines, binary records, rows of
    // HDF5 datasets in this machine's byte order, or the bytes of a whole file. Nothing of a work that is no
    // file. SIGPIPE must be blocked. Error bad_input: they cannot be read.
    Status feed(const Slice& slice, int pipe);

  private:
    SliceQueue& slices_;
    std::uint64_t record_bytes_;
    LineReader lines_;
    RowReader rows_;
    RecordReader records_;
};

}  // namespace wq::slices_program
