// The records of slices as bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "slices_program/options.h"
#include "work_queue/slice_queue.h"
#include "work_queue/slice_readers.h"

namespace wq::slices_program {

class RecordsFeed {
  public:
    // `options`: those of `slices`, which must outlive it, and has just been made.
    RecordsFeed(SliceQueue& slices, const Options& options);
    // Writes the slice's records into the pipe until its reader has closed it: lines, binary records, rows of
    // HDF5 datasets in this machine's byte order, or the bytes of a whole file. Nothing of a folder, or of
    // works that are no files. SIGPIPE must be blocked. Error bad_input: they cannot be read, or the file is
    // gone.
    Status feed(const Slice& slice, int pipe);
    // No work is there as a file, and not all have "://": they may be names, or mistyped.
    bool only_names() const { return files_ == false; }

  private:
    Status feed_whole(const std::string& work, int pipe) const;

    SliceQueue& slices_;
    std::uint64_t record_bytes_;
    std::optional<bool> files_;  // whether works without "://" are files; nullopt: there are none
    LineReader lines_;
    RowReader rows_;
    RecordReader records_;
};

}  // namespace wq::slices_program
