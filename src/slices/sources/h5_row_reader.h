// The rows of an HDF5 dataset as records, all or those of a slice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "slices/sources/h5_rows.h"
#include "slices/sources/record_reader.h"

namespace wq::slices::sources {

// Key "FILE.h5:/path?row=N"; N counts from 0 in the dataset. Value: the bytes of the row, in this machine's
// byte order. A row of several texts of any length has a NUL byte between them.
class H5RowReader final : public RecordReader {
  public:
    // `range`: nullopt: all rows. Error bad_input: the dataset has fewer.
    static Result<H5RowReader> open(H5Rows rows, std::optional<Interval> range = std::nullopt);
    Result<RecordBlock> read(std::size_t most) override;
    std::shared_ptr<const void> keep() override { return has_texts() ? nullptr : bytes_.keep(); }
    Status move_to(const RecordSpan& place) override;
    std::string row_type() const override { return rows_.type().text(); }
    std::uint64_t record_bytes() const override { return rows_.type().row_bytes(); }

  private:
    H5RowReader(H5Rows rows, Interval left)
        : RecordReader(rows.name() + "?row="), rows_(std::move(rows)), left_(left) {}
    bool has_texts() const { return rows_.type().element == Element::any_text; }
    Status fill(std::uint64_t wanted);
    Status fill_texts();

    H5Rows rows_;
    Interval left_;                    // still to be returned
    Interval block_;                   // the rows read last
    KeptBytes bytes_;                  // of them
    std::string texts_;                // the same, if their elements are texts of any length
    std::vector<std::size_t> starts_;  // of each row in texts_, and the end
};

}  // namespace wq::slices::sources
