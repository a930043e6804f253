#include "slices/plan/pass_ledger.h"

#include <gmock/gmock.h>

namespace wq::slices::plan {
namespace {

using ::testing::HasSubstr;

Plan plan_of(std::vector<PlanSource> sources, std::int64_t slices) {
    return std::move(Plan::make(std::move(sources), Cut::total, slices)).or_throw();
}

TEST(Checkpoint, FitsItsOwnWorksOnly) {
    const Plan plan = plan_of({{"a", 10}, {"b", 20}}, 6);
    const Checkpoint checkpoint{plan.digest(), plan.size(), true, 7, {}};
    const auto why_not = [&](const Plan& other, bool shuffle, std::optional<std::uint64_t> seed) {
        const Status fits = check_fits(checkpoint, "c.h5", other, shuffle, seed);
        EXPECT_TRUE(fits || fits.error().code == ExitCode::bad_input);
        return fits ? "" : fits.error().message;
    };
    EXPECT_EQ(why_not(plan, true, {}), "");
    EXPECT_EQ(why_not(plan, true, 7), "");
    EXPECT_THAT(
        why_not(plan_of({{"a", 10}, {"b", 20}}, 5), true, {}),
        HasSubstr(
            "cannot restore c.h5: it is of other works or of another num_slices: 6 slices there, 5 here"));
    EXPECT_THAT(why_not(plan_of({{"b", 20}, {"a", 10}}, 6), true, {}), HasSubstr("other works"));
    EXPECT_THAT(why_not(plan_of({{"a", 10}, {"b", 21}}, 6), true, {}), HasSubstr("other works"));
    EXPECT_THAT(why_not(plan, false, {}), HasSubstr("its slices are shuffled"));
    EXPECT_THAT(why_not(plan, true, 8), HasSubstr("its seed is 7, not 8"));
}

}  // namespace
}  // namespace wq::slices::plan
