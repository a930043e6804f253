#include "transport/frame_budget.h"

#include <gmock/gmock.h>

namespace wq::transport {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t mb = std::size_t{1} << 20;

TEST(FrameBudget, BeyondItOneGoesOnAndTheOthersWaitInTheirOrder) {
    FrameBudget budget(10 * mb);
    EXPECT_TRUE(budget.begun(1, 6 * mb, 6 * mb));
    EXPECT_TRUE(budget.begun(2, 3 * mb, 3 * mb));
    EXPECT_FALSE(budget.spent());
    EXPECT_TRUE(budget.begun(1, 8 * mb, 8 * mb)) << "the first beyond it goes on";
    EXPECT_FALSE(budget.begun(2, 4 * mb, 4 * mb));
    EXPECT_FALSE(budget.begun(3, mb, mb));
    EXPECT_TRUE(budget.begun(1, 50 * mb, 50 * mb));
    EXPECT_THAT(budget.take_released(), IsEmpty());
    budget.ended(1);
    EXPECT_THAT(budget.take_released(), ElementsAre(2, 3));
    EXPECT_FALSE(budget.spent());
}

TEST(FrameBudget, WhereTheRestIsStillTooMuchTheNextOneGoesOn) {
    FrameBudget budget(mb);
    EXPECT_TRUE(budget.begun(1, 2 * mb, 2 * mb));
    EXPECT_FALSE(budget.begun(2, 2 * mb, 2 * mb));
    EXPECT_FALSE(budget.begun(3, 2 * mb, 2 * mb));
    EXPECT_FALSE(budget.begun(4, 2 * mb, 2 * mb));
    budget.ended(3);  // its link is gone
    EXPECT_THAT(budget.take_released(), IsEmpty());
    budget.ended(1);
    EXPECT_THAT(budget.take_released(), ElementsAre(2));
    EXPECT_TRUE(budget.begun(2, 3 * mb, 3 * mb));
    budget.ended(2);
    EXPECT_THAT(budget.take_released(), ElementsAre(4));
    budget.ended(4);
    EXPECT_FALSE(budget.spent());
}

TEST(FrameBudget, SmallFramesPass) {
    FrameBudget budget(mb);
    EXPECT_TRUE(budget.begun(1, 2 * mb, 2 * mb));
    for (FrameBudget::LinkId link = 2; link < 100; ++link)
        EXPECT_TRUE(budget.begun(link, FrameBudget::small, 10));
}

TEST(FrameBudget, WhoHoldsUpOthersMustBringSomething) {
    FrameBudget budget(mb);
    Instant now{};
    EXPECT_TRUE(budget.begun(1, 2 * mb, 2 * mb));
    EXPECT_FALSE(budget.too_slow(10s, now += 1h)) << "nobody waits";
    EXPECT_FALSE(budget.begun(2, 2 * mb, 2 * mb));
    EXPECT_FALSE(budget.too_slow(10s, now += 1h)) << "from now on";
    EXPECT_TRUE(budget.begun(1, 4 * mb, 3 * mb));
    EXPECT_FALSE(budget.too_slow(10s, now += 10s));
    EXPECT_TRUE(budget.begun(1, 4 * mb, 3 * mb + 10));
    budget.watch_anew();
    EXPECT_FALSE(budget.too_slow(10s, now += 1h)) << "we did not look";
    EXPECT_FALSE(budget.too_slow(10s, now += 9s));
    EXPECT_EQ(budget.too_slow(10s, now += 1s), std::optional<FrameBudget::LinkId>(1));
    budget.ended(1);
    EXPECT_THAT(budget.take_released(), ElementsAre(2));
}

}  // namespace
}  // namespace wq::transport
