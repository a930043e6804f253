// The records of slices as bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "work_queue/slice_queue.h"
#include "work_queue/slice_readers.h"

namespace wq::slices_program {

class RecordsFeed {
  public:
    // `slices` must outlive it.
    explicit RecordsFeed(SliceQueue& slices);
    // Writes the slice's records into the pipe until its reader has closed it: lines, binary records, rows of
    // HDF5 datasets in this machine's byte order, or the bytes of a whole file. Nothing of a folder, or of
    // works that are no files. SIGPIPE must be blocked. Error bad_input: they cannot be read, or the file is
    // gone.
    Status feed(const Slice& slice, int pipe);

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

}  // namespace wq::slices_program
