#include "base/read_write.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include "base/descriptor.h"
#include "support/folder.h"

namespace wq {
namespace {

struct TestPipe {
    TestPipe() {
        std::array<int, 2> ends{-1, -1};
        if (::pipe(ends.data()) != 0) ADD_FAILURE() << "no pipe";
        reader.reset(ends[0]);
        writer.reset(ends[1]);
    }
    Descriptor reader;
    Descriptor writer;
};

TEST(BrokenPipes, AreAnErrorOnceTheyAreBlocked) {
    TestPipe pipe;
    pipe.reader.reset();
    bool written = true;
    int error = 0;
    std::thread([&] {
        block_broken_pipes();
        written = write_all(pipe.writer.get(), "text");
        error = errno;
    }).join();
    EXPECT_FALSE(written);
    EXPECT_EQ(error, EPIPE);
}

TEST(WriteAll, WritesMoreThanAPipeHolds) {
    TestPipe pipe;
    const std::string text(std::size_t{1} << 20, 'x');
    std::string read;
    std::thread reader([&] {
        std::array<char, 4096> piece{};
        for (ssize_t got; (got = ::read(pipe.reader.get(), piece.data(), piece.size())) > 0;)
            read.append(piece.data(), static_cast<std::size_t>(got));
    });
    EXPECT_TRUE(write_all(pipe.writer.get(), text));
    pipe.writer.reset();
    reader.join();
    EXPECT_EQ(read, text);
}

TEST(WriteAllAt, WritesOverAndSaysWhyNot) {
    const test::Folder folder;
    test::write_file(folder / "file", "0123456789");
    const Descriptor file(::open((folder / "file").c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_TRUE(write_all_at(file.get(), "xyz", 8));
    EXPECT_EQ(text_of_file(folder / "file"), "01234567xyz");
    EXPECT_FALSE(write_all_at(-1, "x", 0));
    EXPECT_EQ(errno, EBADF);
}

TEST(ReadAll, StopsBeyondTheMostAndAtTheEnd) {
    TestPipe pipe;
    ASSERT_TRUE(write_all(pipe.writer.get(), std::string(40'000, 'x')));
    pipe.writer.reset();
    std::string text = "begin ";
    EXPECT_TRUE(read_all(pipe.reader.get(), text, 10));
    EXPECT_GT(text.size(), 10u);
    EXPECT_LT(text.size(), 40'000u);
    EXPECT_TRUE(read_all(pipe.reader.get(), text));
    EXPECT_EQ(text, "begin " + std::string(40'000, 'x'));
    EXPECT_FALSE(read_all(-1, text));
    EXPECT_EQ(errno, EBADF);
}

TEST(TextOfFile, IsWholeOrEmpty) {
    EXPECT_TRUE(text_of_file("/proc/self/environ/none").empty());
    EXPECT_TRUE(text_of_file("/proc").empty());
    EXPECT_TRUE(text_of_file("/proc/self/comm").ends_with('\n'));
}

TEST(SyncFolder, SaysWhyNot) {
    EXPECT_TRUE(sync_folder("."));
    EXPECT_FALSE(sync_folder("/proc/none"));
    EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace wq
