#include "slices/queue/h5_checkpoint.h"

#include <gmock/gmock.h>
#include <hdf5.h>

#include <filesystem>
#include <iterator>
#include <random>

#include "records/hdf5/h5_library.h"
#include "unit/records/journal/records_testing.h"

namespace wq::slices::queue {
namespace {

using records::hdf5::H5Handle;
using records::journal::testing::TempDir;
using test::read_file;
using test::write_file;
using ::testing::HasSubstr;

plan::Checkpoint checkpoint_of(unsigned ranges) {
    std::mt19937_64 random(ranges);
    plan::Checkpoint checkpoint{random(), random(), ranges % 2 == 0, random(), {}};
    std::uint64_t at = random() % 5;
    for (unsigned n = 0; n < ranges; ++n) {
        const std::uint64_t end = at + 1 + random() % 100;
        checkpoint.committed.insert(Interval{at, end});
        at = end + 1 + random() % 1'000'000'000;
    }
    return checkpoint;
}

TEST(H5Checkpoint, ReadsWhatItWrote) {
    const TempDir dir;
    const std::string path = dir.file("c.h5");
    for (const unsigned ranges : {0U, 1U, 2U, 1001U}) {
        const plan::Checkpoint written = checkpoint_of(ranges);
        ASSERT_TRUE(write_checkpoint(path, written).ok());
        const auto read = read_checkpoint(path);
        ASSERT_TRUE(read.ok()) << read.error().message;
        EXPECT_EQ(*read, written);
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1)
        << "nothing else is left";
}

TEST(H5Checkpoint, IsRefusedCutAtEveryByte) {
    const TempDir dir;
    const std::string path = dir.file("c.h5");
    ASSERT_TRUE(write_checkpoint(path, checkpoint_of(3)).ok());
    const std::string whole = read_file(path);
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        write_file(path, whole.substr(0, bytes));
        const auto read = read_checkpoint(path);
        ASSERT_FALSE(read.ok()) << bytes << " of " << whole.size() << " bytes";
        EXPECT_EQ(read.error().code, ExitCode::bad_input);
        EXPECT_THAT(read.error().message, HasSubstr("cannot restore " + path));
    }
}

TEST(H5Checkpoint, IsRefusedWithAnyByteGarbled) {
    const TempDir dir;
    const std::string path = dir.file("c.h5");
    ASSERT_TRUE(write_checkpoint(path, checkpoint_of(3)).ok());
    const std::string whole = read_file(path);
    for (std::size_t byte = 0; byte < whole.size(); ++byte) {
        std::string garbled = whole;
        garbled[byte] = static_cast<char>(garbled[byte] ^ 0x55);
        write_file(path, garbled);
        ASSERT_FALSE(read_checkpoint(path).ok()) << byte;
    }
}

TEST(H5Checkpoint, SaysWhatIsWrong) {
    const TempDir dir;
    EXPECT_THAT(read_checkpoint(dir.file("none.h5")).error().message, HasSubstr("none.h5"));
    write_file(dir.file("text"), "text");
    EXPECT_THAT(read_checkpoint(dir.file("text")).error().message, HasSubstr("no checkpoint of slices"));
    const H5Handle other(H5Fcreate(dir.file("other.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                         H5Fclose);
    H5Fflush(other.id(), H5F_SCOPE_GLOBAL);
    EXPECT_THAT(read_checkpoint(dir.file("other.h5")).error().message, HasSubstr("no checkpoint of slices"));
    EXPECT_THAT(write_checkpoint(dir.file("no/folder.h5"), checkpoint_of(1)).error().message,
                HasSubstr("no/folder.h5"));
}

}  // namespace
}  // namespace wq::slices::queue
