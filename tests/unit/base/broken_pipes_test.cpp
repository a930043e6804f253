#include "base/write_all.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include "base/descriptor.h"

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

}  // namespace
}  // namespace wq
