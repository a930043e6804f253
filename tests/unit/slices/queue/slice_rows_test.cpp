// Rows of HDF5 datasets through a SliceQueue.
#include <gmock/gmock.h>

#include "unit/slices/sources/h5_testing.h"
#include "work_queue/slice_readers.h"

namespace wq {
namespace {

using slices::sources::testing::H5Dir;
using slices::sources::testing::H5File;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SliceOptions rows_cut_into(std::int64_t slices) {
    SliceOptions options;
    options.num_slices = slices;
    options.shuffle = false;
    return options;
}

void write_rows(const std::string& path, hsize_t rows, float first) {
    std::vector<float> numbers;
    for (hsize_t n = 0; n < rows * 3; ++n) numbers.push_back(first + static_cast<float>(n));
    H5File(path).write("/x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {rows, 3},
                       slices::sources::testing::compressed, numbers.data());
}

TEST(RowReader, ReadsEachRowOfAnyCutOnce) {
    const H5Dir dir;
    write_rows(dir.file("a.h5"), 40, 0);
    write_rows(dir.file("b.h5"), 10, 120);
    for (const std::int64_t slices : {2, 7, 50}) {
        for (const std::size_t at_once : {1u, 3u, 100u}) {
            SliceQueue queue({dir.file("a.h5:/x"), dir.file("b.h5:/x")}, rows_cut_into(slices));
            SliceProducer producer = queue.input_producer();
            RowReader reader;
            std::vector<float> all;
            std::vector<std::string> keys;
            for (;;) {
                const auto [some, values] = reader.read_up_to(producer, at_once);
                if (values.empty()) break;
                const auto numbers = values.as<float>();
                ASSERT_EQ(numbers.size(), 3 * values.size());
                all.insert(all.end(), numbers.begin(), numbers.end());
                for (std::size_t n = 0; n < some.size(); ++n) keys.push_back(some[n]);
            }
            ASSERT_EQ(keys.size(), 50u);
            for (std::size_t n = 0; n < 150; ++n) ASSERT_EQ(all[n], static_cast<float>(n));
            EXPECT_EQ(keys[39], dir.file("a.h5:/x?row=39"));
            EXPECT_EQ(keys[40], dir.file("b.h5:/x?row=0"));
            EXPECT_EQ(reader.row_type(), "float32[3]");
        }
    }
}

TEST(RowReader, ConvertsNothing) {
    const H5Dir dir;
    write_rows(dir.file("a.h5"), 4, 0);
    SliceQueue queue({dir.file("a.h5:/x")}, rows_cut_into(1));
    RowReader reader;
    reader.open(queue, *queue.take());
    const RecordValues values = reader.read_up_to(4).values;
    EXPECT_EQ(values.as<float>().size(), 12u);
    EXPECT_EQ(values.as<char>().size(), 48u);
    EXPECT_THROW(values.as<double>(), std::logic_error);
    EXPECT_THROW(values.as<std::int32_t>(), std::logic_error);
}

TEST(RowReader, GivesTextsOfAnyLength) {
    const H5Dir dir;
    const std::vector<const char*> texts{"one", "", "three", "4"};
    const auto type = slices::sources::testing::text_of(H5T_VARIABLE);
    H5File(dir.file("a.h5"))
        .write("/x", type.id(), type.id(), {4}, slices::sources::testing::contiguous, texts.data());
    SliceQueue queue({dir.file("a.h5:/x")}, rows_cut_into(2));
    SliceProducer producer = queue.input_producer();
    RowReader reader;
    std::vector<std::string> all;
    for (;;) {
        const auto [keys, values] = reader.read_up_to(producer, 2);
        if (values.empty()) break;
        EXPECT_THROW(values.as<char>(), std::logic_error);
        for (const std::string_view text : values) all.emplace_back(text);
    }
    EXPECT_THAT(all, ElementsAre("one", "", "three", "4"));
}

TEST(RowReader, NoticesAnotherFile) {
    const H5Dir dir;
    write_rows(dir.file("a.h5"), 40, 0);
    SliceQueue queue({dir.file("a.h5:/x")}, rows_cut_into(4));
    write_rows(dir.file("a.h5"), 400, 0);
    SliceProducer producer = queue.input_producer();
    RowReader reader;
    try {
        reader.read_up_to(producer, 1);
        FAIL();
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("changed since the plan"));
    }
    LineReader lines;
    try {
        lines.read_up_to(producer, 1);
        FAIL();
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("is cut into rows: read them with RowReader"));
    }
}

}  // namespace
}  // namespace wq
