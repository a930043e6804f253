#include "ranks/mpi/fragments.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace wq::ranks::mpi {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> cut_all(FrameCutter& cutter) {
    std::vector<std::string> fragments;
    char buffer[kFragmentBytes];
    while (!cutter.empty()) fragments.emplace_back(buffer, cutter.cut(buffer));
    return fragments;
}

std::vector<std::string> assemble(const std::vector<std::string>& fragments) {
    FrameAssembler assembler;
    std::vector<std::string> frames;
    for (const std::string& fragment : fragments) EXPECT_TRUE(assembler.take(fragment, frames));
    return frames;
}

std::vector<std::string> sample_frames(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::string> frames;
    for (int i = 0; i < 100; ++i) {
        const std::size_t size = i % 10 == 0 ? random() % 20000 : random() % 40;
        frames.emplace_back(size, static_cast<char>('a' + i % 26));
    }
    return frames;
}

TEST(Fragments, SmallFramesShareOneFragment) {
    FrameCutter cutter;
    for (const char* text : {"one", "", "three"}) cutter.add(text);
    const auto fragments = cut_all(cutter);
    EXPECT_EQ(fragments.size(), 1u);
    EXPECT_THAT(assemble(fragments), ElementsAre("one", "", "three"));
}

TEST(Fragments, EveryLengthAroundTheBorderComesBackWhole) {
    for (std::size_t size = kFragmentBytes - 20; size < kFragmentBytes + 20; ++size) {
        FrameCutter cutter;
        const std::string frame(size, 'x');
        cutter.add(frame);
        cutter.add("");
        cutter.add("tail");
        EXPECT_THAT(assemble(cut_all(cutter)), ElementsAre(frame, "", "tail")) << size;
    }
}

TEST(Fragments, NoFragmentReachesTheEagerLimitOfOpenMpi) {
    FrameCutter cutter;
    cutter.add(std::string(100000, 'x'));
    for (const std::string& fragment : cut_all(cutter)) EXPECT_LT(fragment.size(), 4000u);
}

TEST(Fragments, RandomFramesSurviveAnyOrderOfFragments) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const auto frames = sample_frames(seed);
        FrameCutter cutter;
        for (const std::string& frame : frames) cutter.add(frame);
        auto fragments = cut_all(cutter);
        EXPECT_EQ(assemble(fragments), frames);
        std::shuffle(fragments.begin(), fragments.end(), std::mt19937_64(seed));
        EXPECT_EQ(assemble(fragments), frames);
    }
}

TEST(Fragments, AHoleHoldsBackAllThatFollows) {
    FrameCutter cutter;
    cutter.add(std::string(3 * kFragmentBytes, 'x'));
    auto fragments = cut_all(cutter);
    fragments.erase(fragments.begin() + 1);
    EXPECT_TRUE(assemble(fragments).empty());
}

TEST(Fragments, NonsenseIsRefused) {
    FrameAssembler assembler;
    std::vector<std::string> frames;
    EXPECT_FALSE(assembler.take("abc", frames));
    EXPECT_FALSE(assembler.take(std::string("\0\0\0\0\xff\xff\xff\xff", 8), frames));
    EXPECT_TRUE(frames.empty());
}

}  // namespace
}  // namespace wq::ranks::mpi
