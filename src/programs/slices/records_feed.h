// The records of slices as bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "work_queue/slice_queue.h"
#include "work_queue/slice_readers.h"

namespace wq::programs::slices {

class RecordsFeed {
  public:
    // `slices` must outlive it.
    explicit RecordsFeed(SliceQueue& slices);
    // A pipe that does not block, and a descriptor that is readable once its reader has ended: others may
    // hold the pipe open.
    struct Pipe {
        int write_end;
        int reader_ended;
    };
    // Writes the slice's records into the pipe until its reader has closed it, or ended: lines, binary
    // records, rows of HDF5 datasets in this machine's byte order, or the bytes of a whole file. Nothing of a
    // folder, or of works that are no files. SIGPIPE must be blocked. Error bad_input: they cannot be read,
    // or the file is gone.
    Status feed(const Slice& slice, Pipe pipe);

  private:
    struct Format {
        SliceReader& reader;
        std::size_t at_once;   // so many records
        std::string_view end;  // of each record
    };
    Format format_of(const Slice& slice);

    SliceQueue& slices_;
    LineReader lines_;
    RowReader rows_;
    RecordReader records_;
    RecordReader bytes_;
};

}  // namespace wq::programs::slices
