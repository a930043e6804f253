#include "programs/slices/saver.h"

#include <gmock/gmock.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace wq::programs::slices {
namespace {

using ::testing::ElementsAre;

TEST(SlicesSaver, SavesAtTheStartAndWhileNobodyAsks) {
    std::atomic<int> saves = 0;
    Saver saver(
        [&] {
            ++saves;
            saves.notify_all();
        },
        [](const std::string&) {}, std::chrono::milliseconds(1));
    EXPECT_GE(saves, 1);
    for (int seen = saves; seen < 4; seen = saves) saves.wait(seen);
    EXPECT_TRUE(saver.finish());
}

TEST(SlicesSaver, WithoutATimeSavesWhenAsked) {
    int saves = 0;
    {
        Saver saver([&] { ++saves; }, [](const std::string&) {}, Duration::zero());
        EXPECT_EQ(saves, 1);
        saver.save();
        EXPECT_EQ(saves, 2);
        EXPECT_TRUE(saver.finish());
    }
    EXPECT_EQ(saves, 3);
}

TEST(SlicesSaver, SaysOnceWhyItCannotSaveAndThatTheLastFailed) {
    std::string why = "no room";
    std::vector<std::string> said;
    Saver saver(
        [&] {
            if (!why.empty()) throw std::runtime_error(why);
        },
        [&](const std::string& line) { said.push_back(line); }, Duration::zero());
    saver.save();
    EXPECT_FALSE(saver.finish());
    why = "no folder";
    saver.save();
    EXPECT_THAT(said, ElementsAre("no room", "no folder"));
    why.clear();
    EXPECT_TRUE(saver.finish());
}

}  // namespace
}  // namespace wq::programs::slices
