// The records of slices as bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node/process/command_host.h"
#include "work_queue/slice_queue.h"
#include "work_queue/slice_readers.h"

namespace wq::programs::slices {

class RecordsFeed {
  public:
    // `slices` must outlive it.
    explicit RecordsFeed(SliceQueue& slices);
    // A pipe that does not block, and a descriptor that is readable once its reader has ended: others may
    // hold the pipe open.
    struct Output {
        int write_end;
        int reader_ended;
    };
    // Writes the slice's records into the pipe until its reader has closed it, or ended: lines, binary
    // records, rows of HDF5 datasets in this machine's byte order, or the bytes of a whole file. Nothing of a
    // folder, or of works that are no files. SIGPIPE must be blocked. Error bad_input: they cannot be read,
    // or the file is gone.
    Status feed(const Slice& slice, Output output);

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

// Runs the command of a slice, with its records on stdin.
class SliceCommand {
  public:
    // `command`: each {} in it becomes the name of the slice. `rank`: SLICE_RANK.
    SliceCommand(std::vector<std::string> command, int rank);
    // Waits until the command has ended. Returns "", or what is wrong: "exit code 3", "killed by SIGSEGV",
    // why it cannot be run, or why its records cannot be read.
    std::string run(const Slice& slice, RecordsFeed& records);
    // "": the command is there, or its name is that of the slice; or why it cannot be run.
    std::string problem() const;
    void stop() { host_.stop(); }  // on any thread: ends the command, and runs no other

  private:
    node::process::CommandLine line_of(const Slice& slice) const;

    std::vector<std::string> command_;
    std::string rank_;
    std::vector<std::string> environment_;  // without what makes a process a rank, or is of a slice
    std::string path_;
    node::process::CommandHost host_;
};

}  // namespace wq::programs::slices
