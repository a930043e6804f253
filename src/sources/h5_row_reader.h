// The rows of an HDF5 dataset as records, all or those of a slice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "sources/h5_rows.h"
#include "sources/record_reader.h"

namespace wq::sources {

// Key "FILE.h5:/path?row=N"; N counts from 0 in the dataset. Value: the bytes of the row, in this machine's
// byte order. A row of several texts of any length has a NUL byte between them.
class H5RowReader final : public RecordReader {
  public:
    // `range`: nullopt: all rows. Error bad_input: the dataset has fewer.
    static Result<H5RowReader> open(H5Rows rows, std::optional<Interval> range = std::nullopt);
    Result<bool> next(Record& record) override;

  private:
    H5RowReader(H5Rows rows, Interval left)
        : rows_(std::move(rows)), prefix_(rows_.name() + "?row="), left_(left) {}
    Status fill();
    Status read_value(std::string& value);  // of the next row
    void join_texts(std::string& value) const;

    H5Rows rows_;
    std::string prefix_;       // of keys
    Interval left_;            // still to be returned
    Interval block_;           // the rows read last
    std::vector<char> bytes_;  // of them
    std::vector<std::string> texts_;
};

}  // namespace wq::sources
