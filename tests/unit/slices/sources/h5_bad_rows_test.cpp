// What cannot be read says why, in one line.
#include <gmock/gmock.h>
#include <hdf5.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "slices/sources/h5_row_reader.h"
#include "unit/slices/sources/h5_testing.h"

namespace wq::slices::sources {
namespace {

using test::read_file;
using test::write_file;
using testing::H5Dir;
using testing::H5File;
using ::testing::HasSubstr;
using testing::rows_of;
using testing::why_not;

TEST(H5BadRows, SayWhatIsWrongWithAFile) {
    const H5Dir dir;
    EXPECT_EQ(why_not(dir.file("none.h5") + ":/x"),
              "cannot read " + dir.file("none.h5") + ": No such file or directory");
    write_file(dir.file("text.h5"), "no HDF5 file, though its name says so\n");
    EXPECT_EQ(why_not(dir.file("text.h5") + ":/x"),
              "cannot read " + dir.file("text.h5") + ": it is not an HDF5 file");
    write_file(dir.file("empty.h5"), "");
    EXPECT_THAT(why_not(dir.file("empty.h5") + ":/x"), HasSubstr("it is not an HDF5 file"));
    std::filesystem::create_directory(dir.file("folder.h5"));
    EXPECT_THAT(why_not(dir.file("folder.h5") + ":/x"), HasSubstr("it is a folder"));
}

TEST(H5BadRows, SayWhatIsWrongWithADataset) {
    const H5Dir dir;
    const std::string file_name = dir.file("x.h5");
    const records::hdf5::H5Handle compound(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
    H5Tinsert(compound.id(), "a", 0, H5T_NATIVE_INT64);
    const records::hdf5::H5Handle opaque(H5Tcreate(H5T_OPAQUE, 3), H5Tclose);
    const records::hdf5::H5Handle lists(H5Tvlen_create(H5T_NATIVE_INT8), H5Tclose);
    const hsize_t two = 2;
    const records::hdf5::H5Handle array(H5Tarray_create2(H5T_NATIVE_INT8, 1, &two), H5Tclose);
    const records::hdf5::H5Handle odd(H5Tcopy(H5T_STD_U32LE), H5Tclose);
    H5Tset_size(odd.id(), 3);
    {
        const H5File file(file_name);
        file.write("/group/x", H5T_STD_I8LE, H5T_NATIVE_INT8, {2}, testing::contiguous, "ab");
        file.write("/scalar", H5T_STD_I8LE, H5T_NATIVE_INT8, {}, testing::contiguous, "a");
        file.write_nothing("/null");
        file.link("/dangling", "/nowhere");
        file.write("/types/compound", compound.id(), compound.id(), {1}, testing::contiguous, nullptr);
        file.write("/types/opaque", opaque.id(), opaque.id(), {1}, testing::contiguous, nullptr);
        file.write("/types/lists", lists.id(), lists.id(), {1}, testing::contiguous, nullptr);
        file.write("/types/array", array.id(), array.id(), {1}, testing::contiguous, nullptr);
        file.write("/types/odd", odd.id(), odd.id(), {1}, testing::contiguous, nullptr);
        file.write("/types/long", H5T_NATIVE_LDOUBLE, H5T_NATIVE_LDOUBLE, {1}, testing::contiguous, nullptr);
        file.write("/types/bits", H5T_STD_B8LE, H5T_STD_B8LE, {1}, testing::contiguous, nullptr);
        file.write("/wide", H5T_STD_I64LE, H5T_STD_I64LE, {1, 1u << 30, 1}, testing::chunked, nullptr);
    }
    const std::string so = "...: its elements are of the type ";
    const std::string supported =
        "; supported are integers of 8 to 64 bits, floats of 16 to 64 bits, and strings";
    const std::vector<std::pair<std::string, std::string>> expected{
        {"/none", "...: the file has no such dataset"},
        {"/group/none", "...: the file has no such dataset"},
        {"/none/none", "...: the file has no such dataset"},
        {"/group/x/y", "...: the file has no such dataset"},
        {"/group", "...: it is a group, not a dataset"},
        {"/", "...: it is a group, not a dataset"},
        {"/scalar", "...: it is a scalar, without rows"},
        {"/null", "...: it has no shape (a null dataspace), and so no rows"},
        {"/types/compound", so + "compound" + supported},
        {"/types/opaque", so + "opaque" + supported},
        {"/types/lists", so + "variable-length array" + supported},
        {"/types/array", so + "array" + supported},
        {"/types/odd", so + "24-bit integer" + supported},
        {"/types/long", so + "128-bit float" + supported},
        {"/types/bits", so + "bitfield" + supported},
        {"/wide", "...: a row (int64[1073741824][1]) has more than 4 GiB"},
    };
    for (const auto& [path, line] : expected) EXPECT_EQ(why_not(file_name + ":" + path), line);
    EXPECT_THAT(why_not(file_name + ":/dangling"), HasSubstr("...: it cannot be opened: "));
    EXPECT_TRUE(rows_of(file_name + ":/group/x"));
}

TEST(H5BadRows, RefuseRowsThatAreNotThere) {
    const H5Dir dir;
    {
        const H5File file(dir.file("x.h5"));
        file.write("/x", H5T_STD_I8LE, H5T_NATIVE_INT8, {10}, testing::contiguous, "0123456789");
    }
    auto rows = rows_of(dir.file("x.h5") + ":/x");
    ASSERT_TRUE(rows);
    std::string buffer(2, '\0');
    const std::string line =
        "cannot read " + dir.file("x.h5") + ":/x: there are no rows [9, 11): it has 10 rows";
    const Status beyond = rows->read(9, 11, buffer);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().message, line);
    EXPECT_FALSE(rows->read(2, 1, buffer));
    EXPECT_FALSE(rows->read(2, 3, buffer));  // another size
    const auto reader = H5RowReader::open(rows_of(dir.file("x.h5") + ":/x").or_throw(), Interval{9, 11});
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().message, line);
}

TEST(H5BadRows, NoticeThatTheFileIsAnotherOne) {
    const H5Dir dir;
    const std::string name = dir.file("x.h5") + ":/x";
    const auto write = [&](hsize_t rows) {
        const H5File file(dir.file("x.h5"));
        file.write("/x", H5T_STD_I8LE, H5T_NATIVE_INT8, {rows}, testing::contiguous, "0123456789");
    };
    write(10);
    SourceStamp planned = rows_of(name)->stamp();
    EXPECT_EQ(planned.records, 10u);
    EXPECT_TRUE(rows_of(name, planned));
    const auto time = std::filesystem::last_write_time(dir.file("x.h5"));
    std::filesystem::last_write_time(dir.file("x.h5"), time + std::chrono::seconds(1));
    EXPECT_EQ(why_not(name, planned),
              dir.file("x.h5") + " changed since the plan: it was written to, though its size is the same");
    write(9);
    planned = rows_of(name)->stamp();
    planned.records = 10;
    EXPECT_EQ(why_not(name, planned), name + " changed since the plan: it has 9 records, 10 then");
}

// A file cut anywhere is refused, or its rows are: nothing ends the program, and no row is invented.
TEST(H5BadRows, OfAFileCutAnywhereAreRefusedOrRight) {
    const H5Dir dir;
    std::vector<std::uint32_t> values(2000);
    std::iota(values.begin(), values.end(), 1u);
    {
        const H5File file(dir.file("whole.h5"));
        file.write("/x", H5T_STD_U32LE, H5T_NATIVE_UINT32, {2000}, testing::compressed, values.data());
    }
    const std::string whole = read_file(dir.file("whole.h5"));
    const std::string name = dir.file("cut.h5") + ":/x";
    for (std::size_t size = 0; size < whole.size(); size += 97) {
        write_file(dir.file("cut.h5"), whole.substr(0, size));
        auto rows = rows_of(name);
        if (!rows) continue;
        std::string bytes(2000 * 4, '\0');
        if (rows->read(0, 2000, bytes)) {
            ASSERT_EQ(std::memcmp(bytes.data(), values.data(), bytes.size()), 0) << size;
        }
    }
}

}  // namespace
}  // namespace wq::slices::sources
