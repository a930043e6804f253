#include "net/frames/frame_stream.h"

#include <gmock/gmock.h>

#include <random>
#include <vector>

namespace wq::net::frames {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string stream_of(const std::string& bytes) {
    const auto head = frame_head(bytes.size());
    return std::string(head.data(), head.size()) + bytes;
}

std::vector<std::string> take_all(FrameSplitter& splitter, std::string_view bytes) {
    std::vector<std::string> frames;
    while (auto frame = splitter.take(bytes)) frames.push_back(*frame);
    return frames;
}

TEST(FrameStream, LengthsAreBigEndian) {
    EXPECT_THAT(frame_head(0x01020304), ElementsAre('\x01', '\x02', '\x03', '\x04'));
    EXPECT_EQ(stream_of("ab"), std::string("\0\0\0\2ab", 6));
}

TEST(FrameStream, HoweverTheStreamIsCutTheFramesAreTheSame) {
    std::mt19937 random(1);
    std::vector<std::string> frames;
    std::string stream;
    for (unsigned i = 0; i < 300; ++i) {
        frames.push_back(std::string(1 + random() % 700, static_cast<char>(i)));
        stream += stream_of(frames.back());
        if (i % 5 == 0) stream += stream_of("");  // keep-alives are not frames
    }
    for (const std::size_t most : {std::size_t{1}, std::size_t{3}, std::size_t{50}, stream.size()}) {
        FrameSplitter splitter(700);
        std::vector<std::string> found;
        for (std::size_t at = 0; at < stream.size();) {
            const std::size_t bytes = std::min<std::size_t>(1 + random() % most, stream.size() - at);
            for (auto& frame : take_all(splitter, std::string_view(stream).substr(at, bytes)))
                found.push_back(frame);
            at += bytes;
        }
        EXPECT_EQ(found, frames) << most;
        EXPECT_FALSE(splitter.in_frame());
    }
}

TEST(FrameStream, BeyondTheBoundNothingMoreIsTaken) {
    FrameSplitter splitter(10);
    EXPECT_THAT(take_all(splitter, stream_of("0123456789") + stream_of("0123456789x")),
                ElementsAre("0123456789"));
    EXPECT_TRUE(splitter.too_long());
    EXPECT_EQ(splitter.announced(), 11u);
    EXPECT_THAT(take_all(splitter, stream_of("ok")), IsEmpty());
}

TEST(FrameStream, TheBoundCanGrowBetweenFrames) {
    FrameSplitter splitter(5);
    const std::string stream = stream_of("small") + stream_of("larger than that");
    std::string_view bytes = stream;
    EXPECT_EQ(splitter.take(bytes), "small");
    splitter.allow(100);
    EXPECT_EQ(splitter.take(bytes), "larger than that");
    EXPECT_TRUE(bytes.empty());
}

TEST(FrameStream, WhatIsAnnouncedIsNotReserved) {
    // A thousand that each announce a gigabyte and send a byte: no machine has that much memory.
    std::vector<FrameSplitter> splitters(1000, FrameSplitter(std::size_t{1} << 30));
    for (FrameSplitter& splitter : splitters) {
        const auto head = frame_head(std::size_t{1} << 30);
        const std::string bytes = std::string(head.data(), head.size()) + "x";
        EXPECT_THAT(take_all(splitter, bytes), IsEmpty());
        EXPECT_LE(splitter.held(), 64u << 10);
    }
}

TEST(FrameStream, OtherProtocolsAreGuessed) {
    EXPECT_EQ(guess_protocol("GET "), "it speaks HTTP");
    EXPECT_EQ(guess_protocol("SSH-"), "it speaks SSH");
    EXPECT_THAT(guess_protocol({"\x15\x03\x01\x00", 4}), HasSubstr("TLS"));
    EXPECT_EQ(guess_protocol({"\x7f\0\xff\n", 4}), "it sent no frame but '\\x7f\\x00\\xff\\x0a'");
}

}  // namespace
}  // namespace wq::net::frames
