// The records of a source, or of a slice of it, one after the other: lines of text, rows of an HDF5 dataset,
// binary records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace wq::sources {

struct Record {
    std::string key;    // where it is: "FILE:LINE", "FILE.h5:/path?row=N", "FILE?record=N"
    std::string value;  // its bytes
    bool operator==(const Record&) const = default;
};

class RecordReader {
  public:
    virtual ~RecordReader() = default;
    // Reads the next record into `record`, and reuses its memory. False: there are no more. Error bad_input:
    // it cannot be read; do not read on.
    virtual Result<bool> next(Record& record) = 0;
    // Replaces what is in `out` by the next records, at most `most`, and returns how many; fewer, and then 0,
    // at the end only. Pass the same vector each time: the memory of its strings is used again. With rows of
    // 4 KiB, allocating them anew took a quarter of the time.
    Result<std::size_t> read_up_to(std::size_t most, std::vector<Record>& out);

  protected:
    // `prefix` and the number, in decimal.
    static void set_key(std::string& key, const std::string& prefix, std::uint64_t number);
};

}  // namespace wq::sources
