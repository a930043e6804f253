#include <gmock/gmock.h>

#include <map>

#include "sim/app/session_simulation.h"

namespace wq::sim {
namespace {

constexpr std::uint64_t seeds = WQ_SIM_SEEDS * 2 / 3;

struct Seen {
    std::uint64_t cuts = 0;
    std::uint64_t kills = 0;
    std::uint64_t drains = 0;
    std::uint64_t attempts = 0;
    std::uint64_t losses = 0;
    std::uint64_t doubles = 0;
    std::uint64_t exits = 0;
    Attempt most_attempts = 0;  // of one task
};

// An attempt that is lost counts against its task, but for two: leases that crossed a goodbye, and those of a
// worker that never heard itself welcomed.
bool blames(const core::Outcome& outcome) {
    const std::string& why = outcome.reason;
    return outcome.ending == core::Ending::worker_lost && !why.ends_with("drained") &&
           !why.ends_with("with exit 3") && !why.ends_with("it came anew");
}

// Every task is done exactly once, by an attempt that was started once.
void check(const SessionWeather& weather, std::uint64_t seed, Seen& seen) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SessionSimulation simulation(weather, seed);
    ASSERT_TRUE(simulation.run()) << "waits for " << simulation.manager().reactor().waiting_for();
    std::map<TaskId, int> finals;
    for (const stats::Recorded& recorded : simulation.records()) {
        EXPECT_EQ(finals[recorded.record.task], 0) << "task " << recorded.record.task.value();
        seen.losses += blames(recorded.record.outcome) ? 1 : 0;
        seen.most_attempts = std::max(seen.most_attempts, recorded.record.attempt);
        if (!recorded.record.final) continue;
        ++finals[recorded.record.task];
        EXPECT_TRUE(recorded.record.outcome.succeeded()) << core::describe(recorded.record.outcome);
    }
    for (std::uint64_t id = 0; id < weather.tasks; ++id) ASSERT_EQ(finals[TaskId(id)], 1) << "task " << id;
    EXPECT_THAT(simulation.wrong_starts(), ::testing::IsEmpty());
    seen.cuts += simulation.cuts();
    seen.kills += simulation.kills();
    seen.drains += simulation.drains();
    seen.attempts += simulation.starts();
    seen.doubles += simulation.doubles();
    seen.exits += simulation.exits();
    const auto contradiction = simulation.manager().reactor().audit();
    EXPECT_FALSE(contradiction) << *contradiction;
}

Seen check_all(const SessionWeather& weather) {
    Seen seen;
    for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed)
        check(weather, seed, seen);
    return seen;
}

transport::LoopbackFaults late() {
    transport::LoopbackFaults faults;
    faults.delay = 0.3;
    faults.most_delay = std::chrono::milliseconds(100);
    return faults;
}

TEST(Sessions, InFairWeather) {
    const Seen seen = check_all({});
    EXPECT_EQ(seen.attempts, seeds * SessionWeather{}.tasks);
    EXPECT_EQ(seen.losses, 0U);
}

// A cut costs nothing that runs: what was started is not started again.
TEST(Sessions, CutAndComeBack) {
    SessionWeather weather;
    weather.network = late();
    weather.cuts = 0.01;
    const Seen seen = check_all(weather);
    EXPECT_GT(seen.cuts, 5 * seeds);
    EXPECT_EQ(seen.losses, 0U);
    EXPECT_EQ(seen.attempts, seeds * weather.tasks);
}

TEST(Sessions, CutWhereOnlyOneEndNotices) {
    SessionWeather weather;
    weather.network = late();
    weather.half_open = 0.01;
    weather.unreachable = 0.3;
    const Seen seen = check_all(weather);
    EXPECT_GT(seen.cuts, 5 * seeds);
    EXPECT_EQ(seen.losses, 0U);
    EXPECT_EQ(seen.attempts, seeds * weather.tasks);
}

// Links that are cut with what is under way on them, in the middle of the talk.
TEST(Sessions, CutByAnyFrame) {
    SessionWeather weather;
    weather.network = late();
    weather.network.cut = 0.02;
    const Seen seen = check_all(weather);
    EXPECT_EQ(seen.losses, 0U);
}

TEST(Sessions, GraceOver) {
    SessionWeather weather;
    weather.network = late();
    weather.cuts = 0.01;
    weather.unreachable = 0.8;
    weather.grace = std::chrono::milliseconds(500);
    const Seen seen = check_all(weather);
    EXPECT_GT(seen.losses, seeds / 10);
}

// The manager gives the tasks of a worker that is away to others only once that worker has ended them, also
// where the worker noticed later that it was cut off.
TEST(Sessions, NothingRunsTwiceAtOnceWhoeverNoticesACutFirst) {
    SessionWeather weather;
    weather.network = late();
    weather.tasks = 20;
    weather.long_tasks = true;
    weather.late_cuts = 0.002;
    weather.unreachable = 0.8;
    const Seen seen = check_all(weather);
    EXPECT_GT(seen.cuts, seeds);
    EXPECT_GT(seen.losses, seeds / 10);
    EXPECT_EQ(seen.doubles, 0U);
}

TEST(Sessions, WithoutGrace) {
    SessionWeather weather;
    weather.network = late();
    weather.cuts = weather.half_open = 0.005;
    weather.grace = Duration{0};
    check_all(weather);
}

TEST(Sessions, KilledAndCut) {
    SessionWeather weather;
    weather.network = late();
    weather.cuts = weather.half_open = 0.003;
    weather.kills = 0.002;
    weather.grace = std::chrono::seconds(2);
    const Seen seen = check_all(weather);
    EXPECT_GT(seen.kills, seeds);
    EXPECT_GT(seen.losses, seeds / 10);
}

// Who drains hands back what has not started and what it had to end: no attempt of it is a lost one.
TEST(Sessions, DrainedAndCut) {
    SessionWeather weather;
    weather.network = late();
    weather.drains = 0.005;
    weather.cuts = 0.002;
    const Seen seen = check_all(weather);
    EXPECT_GT(seen.drains, seeds);
    EXPECT_EQ(seen.losses, 0U);
}

// A worker that ends by itself says so before it hands anything back, so that nothing of that is leased to it
// again while its last task runs.
TEST(Sessions, WhoLeavesByItselfGetsNothingMore) {
    SessionWeather weather;
    weather.exits = 0.003;
    const Seen seen = check_all(weather);
    EXPECT_GT(seen.exits, seeds);
    EXPECT_EQ(seen.losses, 0U);
    EXPECT_LT(seen.most_attempts, 20U);
}

}  // namespace
}  // namespace wq::sim
