// An HDF5 file of tables. Others may read it while it is written (SWMR), and after its writer was killed.
// Rows stay in memory until flush(); after the first error nothing more is written.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "records/hdf5/h5_library.h"
#include "records/hdf5/schema.h"

namespace wq::records::hdf5 {

using H5Attributes = std::vector<std::pair<std::string, std::string>>;

class H5Writer {
  public:
    // Creates a new file with all datasets of schema.h and the attributes, then starts SWMR. It replaces a
    // file of that name; open readers keep the old one.
    static Result<H5Writer> create(const std::string& path, const H5Attributes& attributes);
    H5Writer(H5Writer&&) = default;
    H5Writer& operator=(H5Writer&&) = delete;
    ~H5Writer();

    // `row`: the dataset's row struct.
    template <class Row>
    void append(Dataset dataset, const Row& row) {
        append_bytes(dataset, &row, sizeof row);
    }
    // Changes a row that is already in the table: `index` counts all rows ever appended.
    template <class Row>
    void overwrite(Dataset dataset, std::uint64_t index, const Row& row) {
        overwrite_bytes(dataset, index, &row, sizeof row);
    }

    // Maximum bytes that the next flush takes from the disk, in whole chunks.
    std::uint64_t bytes_needed() const;
    std::uint64_t pending_rows() const;
    void drop_pending();

    // Error interrupted, once; later rows are dropped.
    Status flush();
    Status close();
    bool failed() const { return failed_; }

  private:
    struct Table {
        H5Handle dataset;
        H5Handle type;
        std::uint64_t written = 0;  // rows in the file
        std::vector<char> pending;
        std::vector<std::pair<std::uint64_t, std::vector<char>>> rewritten;
    };

    explicit H5Writer(std::string path) : path_(std::move(path)) {}
    bool build(const H5Attributes& attributes);
    bool add_attribute(const std::string& name, const std::string& value);
    bool add_table(const Schema& schema, Table& table);
    bool write_rows(Table& table, std::uint64_t first, std::uint64_t count, const char* rows);
    bool write_pending(const Schema& schema, Table& table);
    void append_bytes(Dataset dataset, const void* row, std::size_t bytes);
    void overwrite_bytes(Dataset dataset, std::uint64_t index, const void* row, std::size_t bytes);
    // Saves the library's error, which its next call loses, even a destructor's. Returns false.
    bool refused();
    Error give_up();

    std::string path_;
    std::string why_;
    H5Handle file_;
    std::array<Table, dataset_count> tables_;
    bool failed_ = false;
};

}  // namespace wq::records::hdf5
