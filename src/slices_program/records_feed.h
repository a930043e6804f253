// The records of a slice as bytes.
#pragma once

#include "base/result.h"
#include "work_queue/slice_queue.h"

namespace wq::slices_program {

// Writes them into the pipe until its reader has closed it: the bytes of a whole file, the rows of an HDF5
// dataset in this machine's byte order. Nothing for a work that is no file. SIGPIPE must be blocked. Error:
// they cannot be read.
Status feed_records(const Slice& slice, int pipe);

}  // namespace wq::slices_program
