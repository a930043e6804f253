// Counts and reads the rows of an HDF5 dataset: slices of its first dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "base/result.h"
#include "records/hdf5/h5_library.h"
#include "slices/sources/h5_elements.h"
#include "slices/sources/h5_name.h"
#include "slices/sources/source_file.h"

namespace wq::slices::sources {

class H5Rows {
  public:
    // Opens it for reading only, also while a program writes it by SWMR. What this process has open
    // already it opens as it was then. Error bad_input: no such file, not
    // HDF5, no such dataset, no rows (a scalar), elements of another type than Element's, a missing
    // decompressor, or another file than `planned`.
    static Result<H5Rows> open(const H5Name& name, const std::optional<SourceStamp>& planned = std::nullopt);

    const std::string& name() const { return name_; }  // "FILE.h5:/path"
    const H5RowType& type() const { return type_; }
    std::uint64_t rows() const { return stamp_.records; }  // when it was opened
    const SourceStamp& stamp() const { return stamp_; }

    // Error bad_input: the dataset has fewer rows.
    Status check(Interval rows) const;
    // Reads the rows [first, end) into `to`, which has exactly (end - first) * type().row_bytes() bytes, in
    // this machine's byte order. Elements are numbers or text of fixed length.
    Status read(std::uint64_t first, std::uint64_t end, std::span<char> to);
    // The same for text of any length: the elements of all these rows, the last dimension fastest.
    Result<std::vector<std::string>> read_texts(std::uint64_t first, std::uint64_t end);

  private:
    explicit H5Rows(const H5Name& name) : name_(name.text()) {}
    Status open_file(const std::string& path, const std::optional<SourceStamp>& planned);
    Status open_dataset(const std::string& path);
    Error no_dataset(const std::string& path) const;
    Status refresh();
    Status find_shape();
    Status find_type();
    Status find_chunks(const std::string& path);
    Status enlarge_cache(const std::string& path, std::vector<std::uint64_t> chunk, std::uint64_t chunks);
    bool read_into(void* to, Interval rows);
    Error refused(const std::string& why) const;

    std::string name_;
    SourceStamp stamp_;
    H5RowType type_;
    bool open_before_ = false;  // datasets of the file, by others in this process
    records::hdf5::H5Handle file_;
    records::hdf5::H5Handle dataset_;
    records::hdf5::H5Handle file_space_;
    records::hdf5::H5Handle memory_type_;
    records::hdf5::H5Handle memory_space_;  // of as many rows as were read last
    std::uint64_t memory_rows_ = 0;
};

}  // namespace wq::slices::sources
