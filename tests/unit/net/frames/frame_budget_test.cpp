#include "net/frames/frame_budget.h"

#include <gmock/gmock.h>

#include <vector>

namespace wq::net::frames {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t mb = std::size_t{1} << 20;

std::vector<FrameBudget::LinkId> released_by(FrameBudget& budget) {
    std::vector<FrameBudget::LinkId> released;
    while (const auto next = budget.next_released()) released.push_back(*next);
    return released;
}

TEST(FrameBudget, BeyondItOneGoesOnAndTheOthersWaitInTheirOrder) {
    FrameBudget budget(10 * mb);
    EXPECT_TRUE(budget.begun(1, 6 * mb, 6 * mb));
    EXPECT_TRUE(budget.begun(2, 3 * mb, 3 * mb));
    EXPECT_FALSE(budget.spent());
    EXPECT_TRUE(budget.begun(1, 8 * mb, 8 * mb)) << "the first beyond it goes on";
    EXPECT_FALSE(budget.begun(2, 4 * mb, 4 * mb));
    EXPECT_FALSE(budget.begun(3, mb, mb));
    EXPECT_TRUE(budget.begun(1, 50 * mb, 50 * mb));
    EXPECT_THAT(released_by(budget), IsEmpty());
    budget.ended(1);
    EXPECT_THAT(released_by(budget), ElementsAre(2, 3));
    EXPECT_FALSE(budget.spent());
}

TEST(FrameBudget, WhereTheRestIsStillTooMuchTheNextOneGoesOn) {
    FrameBudget budget(mb);
    EXPECT_TRUE(budget.begun(1, 2 * mb, 2 * mb));
    EXPECT_FALSE(budget.begun(2, 2 * mb, 2 * mb));
    EXPECT_FALSE(budget.begun(3, 2 * mb, 2 * mb));
    EXPECT_FALSE(budget.begun(4, 2 * mb, 2 * mb));
    budget.ended(3);  // its link is gone
    EXPECT_THAT(released_by(budget), IsEmpty());
    budget.ended(1);
    EXPECT_THAT(released_by(budget), ElementsAre(2));
    EXPECT_TRUE(budget.begun(2, 3 * mb, 3 * mb));
    budget.ended(2);
    EXPECT_THAT(released_by(budget), ElementsAre(4));
    budget.ended(4);
    EXPECT_FALSE(budget.spent());
}

TEST(FrameBudget, SmallFramesPass) {
    FrameBudget budget(mb);
    EXPECT_TRUE(budget.begun(1, 2 * mb, 2 * mb));
    for (FrameBudget::LinkId link = 2; link < 100; ++link)
        EXPECT_TRUE(budget.begun(link, FrameBudget::small, 10));
}

TEST(FrameBudget, WhoIsSlowGivesWayAndGoesOnBesideTheNext) {
    FrameBudget budget(10 * mb);
    Instant now{};
    EXPECT_TRUE(budget.begun(1, 6 * mb, 6 * mb));
    EXPECT_TRUE(budget.begun(2, 9 * mb, 9 * mb));
    EXPECT_FALSE(budget.find_slow(now += 1h)) << "nobody waits";
    EXPECT_FALSE(budget.find_slow(now += 1h));
    EXPECT_FALSE(budget.begun(1, 7 * mb, 7 * mb));
    EXPECT_TRUE(budget.begun(2, 9 * mb, 9 * mb + FrameBudget::small));
    EXPECT_FALSE(budget.find_slow(now += FrameBudget::turn));
    EXPECT_THAT(released_by(budget), IsEmpty());
    budget.look_anew();
    EXPECT_FALSE(budget.find_slow(now += 1h)) << "we did not look";
    EXPECT_THAT(released_by(budget), IsEmpty());
    EXPECT_TRUE(budget.begun(2, 9 * mb, 9 * mb + FrameBudget::small + 10));
    EXPECT_FALSE(budget.find_slow(now += FrameBudget::turn));
    EXPECT_THAT(released_by(budget), ElementsAre(1));
    EXPECT_TRUE(budget.begun(2, 9 * mb, 9 * mb + FrameBudget::small + 20)) << "as slowly as before";
    EXPECT_FALSE(budget.begun(2, 9 * mb, 9 * mb + 2 * FrameBudget::small + 20))
        << "faster when it has its turn";
    EXPECT_TRUE(budget.begun(1, 20 * mb, 20 * mb));
    budget.ended(1);
    EXPECT_THAT(released_by(budget), ElementsAre(2));
    budget.ended(2);
    EXPECT_FALSE(budget.spent());
}

TEST(FrameBudget, WhoWaitsIsNotSlowAnyMore) {
    FrameBudget budget(10 * mb);
    Instant now{};
    EXPECT_TRUE(budget.begun(1, mb, mb));
    EXPECT_TRUE(budget.begun(2, 11 * mb, 11 * mb));
    EXPECT_FALSE(budget.begun(1, mb, mb + 1));
    EXPECT_FALSE(budget.find_slow(now));
    EXPECT_EQ(budget.find_slow(now += FrameBudget::turn), std::optional<FrameBudget::LinkId>(2));
    EXPECT_THAT(released_by(budget), ElementsAre(1));
    EXPECT_FALSE(budget.begun(2, 11 * mb, 11 * mb + FrameBudget::small)) << "it has caught up, and waits";
    EXPECT_FALSE(budget.find_slow(now += FrameBudget::turn)) << "it is not read";
}

TEST(FrameBudget, WhenSlowOnesHoldAsMuchAgainTheLargestEnds) {
    FrameBudget budget(10 * mb);
    Instant now{};
    EXPECT_TRUE(budget.begun(1, 5 * mb, 5 * mb));
    EXPECT_TRUE(budget.begun(2, 6 * mb, 6 * mb));
    EXPECT_FALSE(budget.begun(1, 5 * mb, 5 * mb + 1));
    EXPECT_FALSE(budget.begun(3, 8 * mb, 8 * mb));
    EXPECT_FALSE(budget.find_slow(now));
    EXPECT_FALSE(budget.find_slow(now += FrameBudget::turn)) << "6 MB are held by slow ones";
    EXPECT_THAT(released_by(budget), ElementsAre(1));
    EXPECT_FALSE(budget.find_slow(now += FrameBudget::turn)) << "it gets a whole turn";
    EXPECT_EQ(budget.find_slow(now += FrameBudget::turn), std::optional<FrameBudget::LinkId>(2));
    budget.ended(2);
    EXPECT_THAT(released_by(budget), ElementsAre(3));
    EXPECT_FALSE(budget.find_slow(now += FrameBudget::turn));
}

}  // namespace
}  // namespace wq::net::frames
