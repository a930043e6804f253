// Rows of files that another program has open.
#include <gmock/gmock.h>
#include <hdf5.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>

#include "base/descriptor.h"
#include "unit/slices/sources/h5_testing.h"

namespace wq::slices::sources {
namespace {

using testing::H5Dir;
using testing::H5File;
using testing::numbers;
using testing::read_bytes;
using testing::rows_of;
using testing::why_not;

// Another process that does the steps when told to, and ends without closing anything.
class OtherProgram {
  public:
    explicit OtherProgram(const std::vector<std::function<void()>>& steps) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        ours_.reset(ends[0]);
        const Descriptor theirs(ends[1]);
        child_ = ::fork();
        if (child_ != 0) return;
        ours_.reset();
        char byte = 0;
        for (const auto& step : steps) {
            if (::read(theirs.get(), &byte, 1) != 1) ::_exit(0);
            step();
            if (::write(theirs.get(), &byte, 1) != 1) ::_exit(0);
        }
        ::_exit(::read(theirs.get(), &byte, 1) == 0 ? 0 : 1);
    }
    ~OtherProgram() { end(); }
    bool step() const {
        char byte = 0;
        return ::write(ours_.get(), &byte, 1) == 1 && ::read(ours_.get(), &byte, 1) == 1;
    }
    void end() {
        ours_.reset();
        if (child_ > 0) ::waitpid(child_, nullptr, 0);
        child_ = -1;
    }

  private:
    Descriptor ours_;
    pid_t child_ = -1;
};

TEST(H5LiveRows, AreReadWhileAnotherProgramWritesThem) {
    const H5Dir dir;
    const std::string name = dir.file("x.h5") + ":/rows";
    std::optional<H5File> file;
    std::optional<testing::GrowingRows> growing;
    const auto create = [&] {
        file.emplace(dir.file("x.h5"));
        growing.emplace(*file, "/rows");
        growing->append(0, 5);
    };
    OtherProgram writer({create, [&] { growing->append(5, 9); }, [&] { growing->append(9, 11); }});
    ASSERT_TRUE(writer.step());
    auto rows = rows_of(name);
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->rows(), 5u);
    const SourceStamp planned = rows->stamp();
    EXPECT_TRUE(planned.growing);
    ASSERT_TRUE(writer.step());
    EXPECT_EQ(read_bytes(*rows, 0, 5), numbers<std::int32_t>(5));
    {
        auto later = rows_of(name, planned);
        ASSERT_TRUE(later) << later.error().message;
        EXPECT_EQ(read_bytes(*later, 0, 5), numbers<std::int32_t>(5));
    }
    ASSERT_TRUE(writer.step());
    writer.end();  // as if it was killed
    SourceStamp all = planned;
    all.records = 11;
    EXPECT_EQ(
        why_not(name, all),
        "...: this program opened the file when the dataset had 5 rows; close all readers of the file to "
        "see later rows");
    { const H5Rows closed = std::move(*rows); }
    auto ended = rows_of(name, all);
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_EQ(ended->rows(), 11u);
    EXPECT_EQ(read_bytes(*ended, 0, 11), numbers<std::int32_t>(11));
}

TEST(H5LiveRows, AreNotReadWhileAnotherProgramChangesTheFile) {
    const H5Dir dir;
    std::optional<H5File> file;
    OtherProgram writer({[&] {
        file.emplace(dir.file("x.h5"));
        file->write("/x", H5T_STD_I8LE, H5T_NATIVE_INT8, {2}, testing::contiguous, "ab");
        H5Fflush(file->id(), H5F_SCOPE_LOCAL);
    }});
    ASSERT_TRUE(writer.step());
    EXPECT_EQ(
        why_not(dir.file("x.h5") + ":/x"),
        "cannot read " + dir.file("x.h5") + ": another program has it open for writing, and not by SWMR");
}

}  // namespace
}  // namespace wq::slices::sources
