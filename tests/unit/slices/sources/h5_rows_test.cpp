// Rows of datasets as users have them: of all types, shapes and layouts.
#include <gmock/gmock.h>
#include <hdf5.h>

#include <array>
#include <cstring>
#include <numeric>
#include <random>

#include "records/hdf5/h5_reader.h"
#include "slices/sources/h5_row_reader.h"
#include "unit/records/hdf5/python.h"
#include "unit/slices/sources/h5_testing.h"
#include "unit/slices/sources/records_of.h"

namespace wq::slices::sources {
namespace {

using records::hdf5::testing::python_with_h5py;
using records::hdf5::testing::run_python;
using ::testing::ElementsAre;
using testing::H5Dir;
using testing::H5File;
using ::testing::HasSubstr;
using testing::numbers;
using testing::read_bytes;
using testing::Record;
using testing::rows_of;
using testing::why_not;

std::vector<Record> records_of(const std::string& name, std::optional<Interval> range, std::size_t at_once) {
    auto reader = H5RowReader::open(rows_of(name).or_throw(), range).or_throw();
    return testing::rest_of(reader, at_once);
}

struct Type {
    hid_t file;  // the type in the file
    hid_t memory;
    Element element;
    std::string bytes;  // 60 elements
};

// In both byte orders, because files come from other machines, too.
std::vector<Type> all_types() {
    return {
        {H5T_STD_I8LE, H5T_NATIVE_INT8, Element::int8, numbers<std::int8_t>(60)},
        {H5T_STD_I16BE, H5T_NATIVE_INT16, Element::int16, numbers<std::int16_t>(60)},
        {H5T_STD_I16LE, H5T_NATIVE_INT16, Element::int16, numbers<std::int16_t>(60)},
        {H5T_STD_I32BE, H5T_NATIVE_INT32, Element::int32, numbers<std::int32_t>(60)},
        {H5T_STD_I64LE, H5T_NATIVE_INT64, Element::int64, numbers<std::int64_t>(60)},
        {H5T_STD_U8LE, H5T_NATIVE_UINT8, Element::uint8, numbers<std::uint8_t>(60)},
        {H5T_STD_U16LE, H5T_NATIVE_UINT16, Element::uint16, numbers<std::uint16_t>(60)},
        {H5T_STD_U32BE, H5T_NATIVE_UINT32, Element::uint32, numbers<std::uint32_t>(60)},
        {H5T_STD_U64BE, H5T_NATIVE_UINT64, Element::uint64, numbers<std::uint64_t>(60)},
        {H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, Element::float32, numbers<float>(60)},
        {H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, Element::float64, numbers<double>(60)},
    };
}

TEST(H5Rows, OfAllNumbersShapesAndLayouts) {
    const H5Dir dir;
    const std::vector<std::vector<hsize_t>> shapes{{60}, {20, 3}, {5, 3, 4}};
    for (const Type& type : all_types()) {
        for (const auto& shape : shapes) {
            for (const auto& layout : {testing::contiguous, testing::chunked, testing::compressed}) {
                {
                    const H5File file(dir.file("x.h5"));
                    file.write("/group/data", type.file, type.memory, shape, layout, type.bytes.data());
                }
                auto rows = rows_of(dir.file("x.h5") + ":/group/data");
                ASSERT_TRUE(rows) << rows.error().message;
                ASSERT_EQ(rows->rows(), shape[0]);
                ASSERT_EQ(rows->type().element, type.element);
                ASSERT_EQ(rows->type().shape, std::vector<std::uint64_t>(shape.begin() + 1, shape.end()));
                const std::uint64_t bytes = type.bytes.size() / shape[0];
                ASSERT_EQ(rows->type().row_bytes(), bytes);
                for (std::uint64_t first = 0; first <= shape[0]; ++first) {
                    for (std::uint64_t end = first; end <= shape[0]; end += 3) {
                        ASSERT_EQ(read_bytes(*rows, first, end),
                                  type.bytes.substr(first * bytes, (end - first) * bytes))
                            << name_of(type.element);
                    }
                }
            }
        }
    }
}

TEST(H5Rows, OfHalfFloats) {
    const H5Dir dir;
    const records::hdf5::H5Handle half = testing::half_of(H5T_IEEE_F32BE);
    const std::string stored("\x3c\x00\xc0\x00", 4);  // 1 and -2
    {
        const H5File file(dir.file("x.h5"));
        file.write("/half", half.id(), half.id(), {2}, testing::contiguous, stored.data());
    }
    auto rows = rows_of(dir.file("x.h5") + ":/half");
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->type().element, Element::float16);
    std::array<std::uint16_t, 2> read{};
    std::memcpy(read.data(), read_bytes(*rows, 0, 2).data(), 4);
    EXPECT_THAT(read, ElementsAre(0x3c00, 0xc000));
}

TEST(H5Rows, OfEnumerationsAreIntegers) {
    const H5Dir dir;
    const records::hdf5::H5Handle boolean(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
    for (const std::int8_t value : {std::int8_t{0}, std::int8_t{1}})
        H5Tenum_insert(boolean.id(), value == 0 ? "FALSE" : "TRUE", &value);
    {
        const H5File file(dir.file("x.h5"));
        file.write("/mask", boolean.id(), boolean.id(), {3}, testing::contiguous, "\1\0\1");
    }
    auto rows = rows_of(dir.file("x.h5") + ":/mask");
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->type().element, Element::int8);
    EXPECT_EQ(read_bytes(*rows, 0, 3), std::string("\1\0\1", 3));
}

TEST(H5Rows, OfTextOfFixedLength) {
    const H5Dir dir;
    const records::hdf5::H5Handle text = testing::text_of(4);
    {
        const H5File file(dir.file("x.h5"));
        file.write("/names", text.id(), text.id(), {2, 2}, testing::compressed, "a\0\0\0bcd\0efgh\0\0\0");
    }
    auto rows = rows_of(dir.file("x.h5") + ":/names");
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->type().text(), "text4[2]");
    EXPECT_EQ(read_bytes(*rows, 1, 2), std::string("efgh\0\0\0\0", 8));
    EXPECT_FALSE(rows->read_texts(0, 1));
}

TEST(H5Rows, OfTextOfAnyLength) {
    const H5Dir dir;
    const records::hdf5::H5Handle text = testing::text_of(H5T_VARIABLE);
    const std::string longer(100'000, 'x');
    const std::array<const char*, 6> texts{"one", "", longer.c_str(), nullptr, "\xC3\xA4", "six"};
    {
        const H5File file(dir.file("x.h5"));
        file.write("/flat", text.id(), text.id(), {6}, testing::contiguous, texts.data());
        file.write("/pairs", text.id(), text.id(), {3, 2}, testing::compressed, texts.data());
    }
    auto flat = rows_of(dir.file("x.h5") + ":/flat");
    ASSERT_TRUE(flat) << flat.error().message;
    EXPECT_EQ(flat->type().text(), "any_text");
    EXPECT_THAT(*flat->read_texts(1, 5), ElementsAre("", longer, "", "\xC3\xA4"));
    EXPECT_TRUE(flat->read_texts(6, 6)->empty());
    EXPECT_FALSE(flat->read_texts(6, 7));
    EXPECT_FALSE(flat->read(0, 0, {}));
    auto pairs = rows_of(dir.file("x.h5") + ":/pairs");
    ASSERT_TRUE(pairs) << pairs.error().message;
    EXPECT_EQ(pairs->type().text(), "any_text[2]");
    EXPECT_THAT(*pairs->read_texts(2, 3), ElementsAre("\xC3\xA4", "six"));

    const std::string name = dir.file("x.h5") + ":/pairs";
    EXPECT_THAT(records_of(name, Interval{1, 3}, 5),
                ElementsAre(Record{name + "?row=1", longer + '\0'},
                            Record{name + "?row=2", std::string("\xC3\xA4\0six", 6)}));
}

TEST(H5Rows, WithoutRowsOrElements) {
    const H5Dir dir;
    {
        const H5File file(dir.file("x.h5"));
        file.write("/none", H5T_STD_I32LE, H5T_NATIVE_INT32, {0}, testing::contiguous, nullptr);
        file.write("/empty", H5T_STD_I32LE, H5T_NATIVE_INT32, {3, 0}, testing::contiguous, nullptr);
    }
    auto none = rows_of(dir.file("x.h5") + ":/none");
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_EQ(none->rows(), 0u);
    EXPECT_EQ(read_bytes(*none, 0, 0), "");
    auto empty = rows_of(dir.file("x.h5") + ":/empty");
    ASSERT_TRUE(empty) << empty.error().message;
    EXPECT_EQ(read_bytes(*empty, 0, 3), "");
    const auto records = records_of(dir.file("x.h5") + ":/empty", std::nullopt, 2);
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[2], (Record{dir.file("x.h5") + ":/empty?row=2", ""}));
}

TEST(H5RowReader, ReadsEachRowOnceInAnySlices) {
    const H5Dir dir;
    constexpr std::uint64_t count = 30'000;
    std::vector<std::uint64_t> values(count * 4);
    std::iota(values.begin(), values.end(), 0u);
    std::mt19937_64 random(1);
    for (const auto& layout : {testing::contiguous, testing::compressed}) {
        {
            const H5File file(dir.file("x.h5"));
            file.write("/rows", H5T_STD_U64LE, H5T_NATIVE_UINT64, {count, 4}, layout, values.data());
        }
        const std::string name = dir.file("x.h5") + ":/rows";
        std::uint64_t row = 0;
        for (std::uint64_t first = 0; first < count;) {
            const std::uint64_t end = std::min(first + random() % 20'000, count);
            const auto some = records_of(name, Interval{first, end}, 1 + random() % 20'000);
            ASSERT_EQ(some.size(), end - first);
            for (const Record& record : some) {
                ASSERT_EQ(record.key, name + "?row=" + std::to_string(row));
                ASSERT_EQ(std::memcmp(record.value.data(), &values[row++ * 4], 32), 0);
            }
            first = end;
        }
    }
}

// As most users write their files.
TEST(H5Rows, OfH5py) {
    const std::string python = python_with_h5py();
    if (python.empty()) GTEST_SKIP() << "no Python with h5py (Debian: python3-h5py)";
    const H5Dir dir;
    const auto ran = run_python(python, dir, R"(
import h5py, numpy
f = h5py.File(')" + dir.file("x.h5") + R"(', 'w')
f['flags'] = numpy.array([True, False, True])
f['half'] = numpy.array([1, -2], dtype='float16')
f['names'] = ['one', 'zwei\u00df']
f['bytes'] = numpy.array([b'ab', b'c'])
f.create_dataset('images', data=numpy.arange(24, dtype='uint16').reshape(4, 2, 3), compression='gzip',
                 shuffle=True, fletcher32=True)
f.create_dataset('lzf', data=numpy.arange(4), compression='lzf')
f['complex'] = numpy.array([1j])
)");
    ASSERT_EQ(ran.status, 0) << ran.output;
    const std::string file = dir.file("x.h5") + ":/";
    EXPECT_EQ(read_bytes(file + "flags", 0, 3), std::string("\1\0\1", 3));
    EXPECT_EQ(read_bytes(file + "half", 0, 2), std::string("\0\x3c\0\xc0", 4));
    EXPECT_THAT(*rows_of(file + "names").or_throw().read_texts(0, 2), ElementsAre("one", "zwei\xC3\x9F"));
    EXPECT_EQ(read_bytes(file + "bytes", 0, 2), std::string("abc\0", 4));
    EXPECT_EQ(rows_of(file + "images")->type().text(), "uint16[2][3]");
    EXPECT_EQ(read_bytes(file + "images", 1, 2), std::string("\x06\0\x07\0\x08\0\x09\0\x0a\0\x0b\0", 12));
    EXPECT_EQ(why_not(file + "lzf"),
              "...: it is compressed by filter 32000 (lzf), which this HDF5 library lacks; HDF5_PLUGIN_PATH "
              "names the folder of its plugins");
    EXPECT_THAT(why_not(file + "complex"), HasSubstr("of the type compound"));
}

TEST(H5RowReader, ReadsRowsOfManyBytes) {
    const H5Dir dir;
    const std::string bytes = numbers<std::int16_t>(5 * 50'000);
    {
        const H5File file(dir.file("x.h5"));
        file.write("/x", H5T_STD_I16BE, H5T_NATIVE_INT16, {5, 50'000}, testing::compressed, bytes.data());
    }
    const auto records = records_of(dir.file("x.h5") + ":/x", Interval{1, 5}, 3);
    ASSERT_EQ(records.size(), 4u);
    for (std::size_t n = 0; n < 4; ++n) {
        EXPECT_EQ(records[n].key, dir.file("x.h5") + ":/x?row=" + std::to_string(n + 1));
        EXPECT_TRUE(records[n].value == bytes.substr((n + 1) * 100'000, 100'000));
    }
}

TEST(H5Rows, AfterAUserBlock) {
    const H5Dir dir;
    {
        const H5File file(dir.file("x.mat"), 512);
        file.write("/rows", H5T_STD_I8LE, H5T_NATIVE_INT8, {2}, testing::contiguous, "ab");
    }
    auto rows = rows_of(dir.file("x.mat") + ":/rows");
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(read_bytes(*rows, 0, 2), "ab");
    EXPECT_TRUE(records::hdf5::is_hdf5(dir.file("x.mat")));
}

}  // namespace
}  // namespace wq::slices::sources
