// Writes HDF5 files of any types, shapes and layouts, by the library's own calls.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "records/hdf5/h5_library.h"
#include "slices/sources/h5_rows.h"
#include "unit/records/journal/records_testing.h"

namespace wq::slices::sources::testing {

struct Layout {
    bool chunks = false;
    bool deflate = false;
};
inline constexpr Layout contiguous{};
inline constexpr Layout chunked{true, false};
inline constexpr Layout compressed{true, true};

inline records::hdf5::H5Handle text_of(std::size_t bytes) {
    records::hdf5::H5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.id(), bytes);
    H5Tset_strpad(type.id(), bytes == H5T_VARIABLE ? H5T_STR_NULLTERM : H5T_STR_NULLPAD);
    H5Tset_cset(type.id(), H5T_CSET_UTF8);
    return type;
}

// As numpy's float16 is stored; in the byte order of `single`.
inline records::hdf5::H5Handle half_of(hid_t single) {
    records::hdf5::H5Handle type(H5Tcopy(single), H5Tclose);
    H5Tset_fields(type.id(), 15, 10, 5, 0, 10);
    H5Tset_precision(type.id(), 16);
    H5Tset_size(type.id(), 2);
    H5Tset_ebias(type.id(), 15);
    return type;
}

// For tests that use the library themselves. H5dont_atexit() must come before its first other call, even if
// that is hidden in a constant like H5T_NATIVE_INT8; otherwise a failed write in a later test crashes at
// exit.
class H5Dir : public records::journal::testing::TempDir {
  public:
    H5Dir() { records::hdf5::h5_keep_quiet(); }
};

class H5File {
  public:
    explicit H5File(const std::string& path, hsize_t user_block = 0) {
        const records::hdf5::H5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
        if (user_block > 0) H5Pset_userblock(creation.id(), user_block);
        file_ = records::hdf5::H5Handle(
            H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), records::hdf5::h5_file_access().id()),
            H5Fclose);
        links_ = records::hdf5::H5Handle(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
        H5Pset_create_intermediate_group(links_.id(), 1);
        EXPECT_TRUE(file_.ok());
    }
    hid_t id() const { return file_.id(); }

    // `data`: nullptr: nothing is written. `shape`: empty: a scalar.
    void write(const std::string& path, hid_t type, hid_t memory_type, const std::vector<hsize_t>& shape,
               Layout layout, const void* data) const {
        const records::hdf5::H5Handle space(
            shape.empty() ? H5Screate(H5S_SCALAR)
                          : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
            H5Sclose);
        const records::hdf5::H5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        std::vector<hsize_t> chunk;  // does not divide the shapes
        for (const hsize_t length : shape) chunk.push_back(std::min<hsize_t>(length / 3 + 1, 1000));
        if (layout.chunks) H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data());
        if (layout.deflate) H5Pset_deflate(creation.id(), 1);
        const records::hdf5::H5Handle dataset(
            H5Dcreate2(id(), path.c_str(), type, space.id(), links_.id(), creation.id(), H5P_DEFAULT),
            H5Dclose);
        ASSERT_TRUE(dataset.ok()) << path;
        if (data != nullptr) {
            ASSERT_GE(H5Dwrite(dataset.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
        }
    }
    void write_nothing(const std::string& path) const {
        const records::hdf5::H5Handle space(H5Screate(H5S_NULL), H5Sclose);
        const records::hdf5::H5Handle dataset(H5Dcreate2(id(), path.c_str(), H5T_NATIVE_INT8, space.id(),
                                                         links_.id(), H5P_DEFAULT, H5P_DEFAULT),
                                              H5Dclose);
        ASSERT_TRUE(dataset.ok());
    }
    void link(const std::string& path, const std::string& target) const {
        ASSERT_GE(H5Lcreate_soft(target.c_str(), id(), path.c_str(), links_.id(), H5P_DEFAULT), 0);
    }

  private:
    records::hdf5::H5Handle file_;
    records::hdf5::H5Handle links_;
};

// A dataset that grows while others read it (SWMR): row n is 37 * n.
class GrowingRows {
  public:
    GrowingRows(const H5File& file, const char* path) {
        const hsize_t none = 0;
        const hsize_t unlimited = H5S_UNLIMITED;
        const hsize_t chunk = 4;
        const records::hdf5::H5Handle space(H5Screate_simple(1, &none, &unlimited), H5Sclose);
        const records::hdf5::H5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        H5Pset_chunk(creation.id(), 1, &chunk);
        dataset_ = records::hdf5::H5Handle(H5Dcreate2(file.id(), path, H5T_NATIVE_INT32, space.id(),
                                                      H5P_DEFAULT, creation.id(), H5P_DEFAULT),
                                           H5Dclose);
        EXPECT_TRUE(dataset_.ok());
        EXPECT_GE(H5Fstart_swmr_write(file.id()), 0);
    }
    void append(hsize_t first, hsize_t end) const {
        std::vector<std::int32_t> rows;
        for (hsize_t n = first; n < end; ++n) rows.push_back(static_cast<std::int32_t>(n * 37));
        EXPECT_GE(H5Dset_extent(dataset_.id(), &end), 0);
        const hsize_t count = end - first;
        const records::hdf5::H5Handle there(H5Dget_space(dataset_.id()), H5Sclose);
        const records::hdf5::H5Handle here(H5Screate_simple(1, &count, nullptr), H5Sclose);
        H5Sselect_hyperslab(there.id(), H5S_SELECT_SET, &first, nullptr, &count, nullptr);
        EXPECT_GE(H5Dwrite(dataset_.id(), H5T_NATIVE_INT32, here.id(), there.id(), H5P_DEFAULT, rows.data()),
                  0);
        EXPECT_GE(H5Fflush(dataset_.id(), H5F_SCOPE_LOCAL), 0);
    }

  private:
    records::hdf5::H5Handle dataset_;
};

inline Result<H5Rows> rows_of(const std::string& name,
                              const std::optional<SourceStamp>& planned = std::nullopt) {
    return H5Rows::open(split_h5_name(name).value(), planned);
}

inline std::string why_not(const std::string& name,
                           const std::optional<SourceStamp>& planned = std::nullopt) {
    auto rows = rows_of(name, planned);
    if (rows) return "";
    EXPECT_EQ(rows.error().code, ExitCode::bad_input);
    EXPECT_EQ(rows.error().message.find('\n'), std::string::npos);
    const std::string start = "cannot read " + name;
    return rows.error().message.starts_with(start) ? "..." + rows.error().message.substr(start.size())
                                                   : rows.error().message;
}

inline std::string read_bytes(H5Rows& rows, std::uint64_t first, std::uint64_t end) {
    std::string bytes((end - first) * rows.type().row_bytes(), '\0');
    const Status read = rows.read(first, end, bytes);
    EXPECT_TRUE(read) << read.error().message;
    return bytes;
}

inline std::string read_bytes(const std::string& name, std::uint64_t first, std::uint64_t end) {
    H5Rows rows = rows_of(name).or_throw();
    return read_bytes(rows, first, end);
}

// The rows of type T that GrowingRows and other tests write.
template <class T>
std::string numbers(std::uint64_t count) {
    std::string bytes;
    for (std::uint64_t n = 0; n < count; ++n) {
        const T value = static_cast<T>(n * 37);
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return bytes;
}

}  // namespace wq::slices::sources::testing
