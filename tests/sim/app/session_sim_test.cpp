#include <gmock/gmock.h>

#include <map>

#include "sim/app/session_simulation.h"

namespace wq::sim {
namespace {

constexpr std::uint64_t session_seeds = WQ_SIM_SEEDS * 2 / 3;

struct SessionsSeen {
    std::uint64_t cuts = 0;
    std::uint64_t kills = 0;
    std::uint64_t stops = 0;
    std::uint64_t drains = 0;
    std::uint64_t attempts = 0;
    std::uint64_t losses = 0;
    std::uint64_t doubles = 0;
    std::uint64_t exits = 0;
    Attempt most_attempts = 0;  // of one task
};

// Whether a lost attempt counts against its task. Not if its lease and a goodbye crossed, or if its worker
// never received a Welcome.
bool blames(const engine::model::Outcome& outcome) {
    const std::string& why = outcome.reason;
    return outcome.ending == engine::model::Ending::worker_lost && !why.ends_with("drained") &&
           !why.ends_with("with exit 3") && !why.ends_with("it reconnected as a new worker");
}

// Every task is done exactly once, by an attempt that started once.
void check_session(const SessionFaults& faults, std::uint64_t seed, SessionsSeen& seen) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SessionSimulation simulation(faults, seed);
    ASSERT_TRUE(simulation.run()) << "waits for " << simulation.manager().reactor().waiting_for();
    std::map<TaskId, int> finals;
    for (const records::recorder::Recorded& recorded : simulation.records()) {
        EXPECT_EQ(finals[recorded.record.task], 0) << "task " << recorded.record.task.value();
        seen.losses += blames(recorded.record.outcome) ? 1 : 0;
        seen.most_attempts = std::max(seen.most_attempts, recorded.record.attempt);
        if (!recorded.record.final) continue;
        ++finals[recorded.record.task];
        EXPECT_TRUE(recorded.record.outcome.succeeded()) << engine::model::describe(recorded.record.outcome);
    }
    for (std::uint64_t id = 0; id < faults.tasks; ++id) ASSERT_EQ(finals[TaskId(id)], 1) << "task " << id;
    EXPECT_THAT(simulation.wrong_starts(), ::testing::IsEmpty());
    seen.cuts += simulation.cuts();
    seen.kills += simulation.kills();
    seen.stops += simulation.stops();
    seen.drains += simulation.drains();
    seen.attempts += simulation.starts();
    seen.doubles += simulation.doubles();
    seen.exits += simulation.exits();
    const auto contradiction = simulation.manager().reactor().audit();
    EXPECT_FALSE(contradiction) << *contradiction;
}

SessionsSeen check_all_sessions(const SessionFaults& faults) {
    SessionsSeen seen;
    for (std::uint64_t seed = 1; seed <= session_seeds && !::testing::Test::HasFailure(); ++seed)
        check_session(faults, seed, seen);
    return seen;
}

net::frames::LoopbackFaults late() {
    net::frames::LoopbackFaults faults;
    faults.delay = 0.3;
    faults.most_delay = std::chrono::milliseconds(100);
    return faults;
}

TEST(Sessions, WithoutFaults) {
    const SessionsSeen seen = check_all_sessions({});
    EXPECT_EQ(seen.attempts, session_seeds * SessionFaults{}.tasks);
    EXPECT_EQ(seen.losses, 0U);
}

// A disconnection does not affect running tasks: they are not started again.
TEST(Sessions, CutAndComeBack) {
    SessionFaults faults;
    faults.network = late();
    faults.cuts = 0.01;
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_GT(seen.cuts, 5 * session_seeds);
    EXPECT_EQ(seen.losses, 0U);
    EXPECT_EQ(seen.attempts, session_seeds * faults.tasks);
}

TEST(Sessions, CutWhereOnlyOneEndNotices) {
    SessionFaults faults;
    faults.network = late();
    faults.half_open = 0.01;
    faults.unreachable = 0.3;
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_GT(seen.cuts, 5 * session_seeds);
    EXPECT_EQ(seen.losses, 0U);
    EXPECT_EQ(seen.attempts, session_seeds * faults.tasks);
}

// Connections that break during a conversation, losing frames in flight.
TEST(Sessions, CutByAnyFrame) {
    SessionFaults faults;
    faults.network = late();
    faults.network.cut = 0.02;
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_EQ(seen.losses, 0U);
}

TEST(Sessions, GraceOver) {
    SessionFaults faults;
    faults.network = late();
    faults.cuts = 0.01;
    faults.unreachable = 0.8;
    faults.grace = std::chrono::milliseconds(500);
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_GT(seen.losses, session_seeds / 10);
}

// The manager gives a disconnected worker's tasks to others only after that worker has killed them, even if
// the worker notices the disconnection later.
TEST(Sessions, NothingRunsTwiceAtOnceWhoeverNoticesACutFirst) {
    SessionFaults faults;
    faults.network = late();
    faults.tasks = 20;
    faults.long_tasks = true;
    faults.late_cuts = 0.002;
    faults.unreachable = 0.8;
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_GT(seen.cuts, session_seeds);
    EXPECT_GT(seen.losses, session_seeds / 10);
    EXPECT_EQ(seen.doubles, 0U);
}

TEST(Sessions, WithoutGrace) {
    SessionFaults faults;
    faults.network = late();
    faults.cuts = faults.half_open = 0.005;
    faults.grace = Duration{0};
    check_all_sessions(faults);
}

TEST(Sessions, KilledAndCut) {
    SessionFaults faults;
    faults.network = late();
    faults.cuts = faults.half_open = 0.003;
    faults.kills = 0.002;
    faults.grace = std::chrono::seconds(2);
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_GT(seen.kills, session_seeds);
    EXPECT_GT(seen.losses, session_seeds / 10);
}

// A killed worker's tasks run on until its launcher has ended them.
TEST(Sessions, NothingRunsTwiceAtOnceAfterAWorkerIsKilled) {
    SessionFaults faults;
    faults.network = late();
    faults.tasks = 8;
    faults.long_tasks = true;
    faults.cuts = faults.half_open = 0.0003;
    faults.kills = 0.0003;
    faults.last_words = 0.5;
    faults.unkillable = 0.2;
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_GT(seen.kills, session_seeds);
    EXPECT_GT(seen.losses, session_seeds / 10);
    EXPECT_EQ(seen.doubles, 0U);
}

// A stopped worker cannot end its tasks, so its launcher does.
TEST(Sessions, NothingRunsTwiceAtOnceAfterAWorkerIsStopped) {
    SessionFaults faults;
    faults.network = late();
    faults.tasks = 8;
    faults.long_tasks = true;
    faults.cuts = 0.0003;
    faults.stops = 0.001;
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_GT(seen.stops, session_seeds);
    EXPECT_GT(seen.losses, session_seeds / 10);
    EXPECT_EQ(seen.doubles, 0U);
}

// A draining worker returns what has not started and what it had to kill: none of these attempts counts as
// lost.
TEST(Sessions, DrainedAndCut) {
    SessionFaults faults;
    faults.network = late();
    faults.drains = 0.005;
    faults.cuts = 0.002;
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_GT(seen.drains, session_seeds);
    EXPECT_EQ(seen.losses, 0U);
}

// A worker that leaves by itself says so before it returns leases, so that they are not leased to it again
// while its last task runs.
TEST(Sessions, WhoLeavesByItselfGetsNothingMore) {
    SessionFaults faults;
    faults.exits = 0.003;
    const SessionsSeen seen = check_all_sessions(faults);
    EXPECT_GT(seen.exits, session_seeds);
    EXPECT_EQ(seen.losses, 0U);
    EXPECT_LT(seen.most_attempts, 20U);
}

}  // namespace
}  // namespace wq::sim
