// The records of a source, or of a slice of it, one after the other: lines of text, rows of an HDF5 dataset,
// binary records.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace wq {

struct Record {
    std::string key;    // where it is: "FILE:LINE", "FILE.h5:/path?row=N", "FILE?record=N"
    std::string value;  // its bytes
    bool operator==(const Record&) const = default;
};

class RecordReader {
  public:
    virtual ~RecordReader() = default;
    // Appends the next records to `out`, at most `most`, and returns how many. It returns fewer than `most`
    // at the end only, and then 0. Error bad_input: they cannot be read; do not read on.
    virtual Result<std::size_t> read_up_to(std::size_t most, std::vector<Record>& out) = 0;
};

}  // namespace wq
