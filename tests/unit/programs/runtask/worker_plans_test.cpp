#include "programs/runtask/worker_plans.h"

#include <gtest/gtest.h>

namespace wq::programs::runtask {
namespace {

constexpr Instant start{std::chrono::seconds(100)};
constexpr Duration second = std::chrono::seconds(1);

TEST(LookPlan, IsAtOnceUntilALookIsPlanned) {
    LookPlan looks;
    EXPECT_TRUE(looks.may_look(start));
    EXPECT_FALSE(looks.is_due(start));
    EXPECT_EQ(looks.next(start), start);

    looks.plan(start + 3 * second, start + second);
    EXPECT_FALSE(looks.may_look(start));
    EXPECT_EQ(looks.next(start), start + second);
    EXPECT_TRUE(looks.is_due(start + 3 * second));

    looks.look_at_once();
    EXPECT_TRUE(looks.may_look(start));
}

TEST(LookPlan, PeeksWhetherTheListHasChanged) {
    std::optional<std::string> state = "a";
    const auto peek = [&](LookPlan& looks, Instant now) { looks.peek(now, second, [&] { return state; }); };
    LookPlan looks;
    looks.begin_look(state);
    looks.plan(start + 9 * second, start + second);
    peek(looks, start + second);
    EXPECT_EQ(looks.next(start), start + 2 * second);

    state = "b";
    peek(looks, start + second);  // before it is due
    EXPECT_FALSE(looks.is_due(start + second));
    peek(looks, start + 2 * second);
    EXPECT_TRUE(looks.is_due(start + 2 * second));

    // Without a state there is nothing to ask any more.
    looks.plan(start + 9 * second, start + 3 * second);
    looks.begin_look(std::nullopt);
    state.reset();
    peek(looks, start + 3 * second);
    EXPECT_EQ(looks.next(start), start + 9 * second);
}

TEST(Outage, TriesAtOnceAndThenEverMoreRarely) {
    Outage outage;
    EXPECT_FALSE(outage.is_on());
    outage.note_failure(start);
    EXPECT_TRUE(outage.may_try(start));
    outage.note_failure(start);
    EXPECT_FALSE(outage.may_try(start));
    EXPECT_EQ(outage.try_at(), start + second);
    outage.note_failure(start);
    EXPECT_EQ(outage.try_at(), start + 2 * second);
    for (int tries = 0; tries < 10; ++tries) outage.note_failure(start);
    EXPECT_EQ(outage.try_at(), start + 30 * second);

    outage.end();
    EXPECT_TRUE(outage.may_try(start));
    outage.note_failure(start);
    EXPECT_EQ(outage.try_at(), start);
}

TEST(ListMove, WaitsWhenListsWithoutLinesLeadToEachOther) {
    ListMove move;
    const auto is_late = [&] {
        move.arrive(0, start);
        return move.join_at() == start;
    };
    EXPECT_FALSE(is_late());
    EXPECT_FALSE(is_late());
    move.note_line();
    EXPECT_FALSE(is_late());
    EXPECT_FALSE(is_late());
    EXPECT_FALSE(is_late());
    EXPECT_TRUE(is_late());
}

TEST(WorkerEnd, LeavesWithThePlannedCodeUnlessAnErrorComesFirst) {
    WorkerEnd end;
    end.plan(7);
    EXPECT_TRUE(end.is_planned());
    EXPECT_FALSE(end.has_come());
    end.leave();
    EXPECT_TRUE(end.has_come());
    EXPECT_EQ(*end.result(), 7);
    end.fail({ExitCode::bad_input, "damaged"});
    EXPECT_EQ(end.result().error().message, "damaged");
}

}  // namespace
}  // namespace wq::programs::runtask
