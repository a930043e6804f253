#include <gmock/gmock.h>

#include "sim/app/app_simulation.h"

namespace wq::sim {
namespace {

constexpr std::uint64_t seeds = WQ_SIM_SEEDS;

// Totals over the runs with the same faults, to check that the faults occurred.
struct Seen {
    std::uint64_t losses = 0;
    std::uint64_t second_attempts = 0;
    std::uint64_t with_tickets = 0;
    std::uint64_t draws = 0;  // from counters
    std::uint64_t departures = 0;
    std::uint64_t unrecorded = 0;   // attempts that were started, but whose end was never reported
    std::uint64_t interrupted = 0;  // attempts that ended with their worker or by our order
    Attempt most_attempts = 0;      // of one task
};

// Every task has exactly one final record (except those that can never run), with its own outcome.
void check(const AppFaults& faults, std::uint64_t seed, Seen& seen) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AppSimulation simulation(faults, seed);
    ASSERT_TRUE(simulation.run()) << "waits for " << simulation.manager().reactor().waiting_for();
    const engine::model::Ledger& ledger = simulation.manager().reactor().ledger();
    std::map<TaskId, int> finals;
    std::map<TaskId, Attempt> last;
    for (const records::recorder::Recorded& recorded : simulation.records()) {
        const records::journal::TaskRecord& record = recorded.record;
        EXPECT_GT(record.attempt, last[record.task]) << "task " << record.task.value();
        EXPECT_EQ(finals[record.task], 0) << "task " << record.task.value() << " went on after its end";
        last[record.task] = record.attempt;
        const engine::model::Ending ending = record.outcome.ending;
        const bool crossed = record.outcome.reason.ends_with("with exit 3");  // its report and a goodbye
                                                                              // crossed
        const bool interrupted = (ending == engine::model::Ending::worker_lost && !crossed) ||
                                 ending == engine::model::Ending::killed;
        seen.interrupted += interrupted ? 1 : 0;
        seen.most_attempts = std::max(seen.most_attempts, record.attempt);
        seen.second_attempts += record.attempt == 2 || record.outcome.user_us == 2 ? 1 : 0;
        if (!record.final) continue;
        ++finals[record.task];
        const bool fails = simulation.task(record.task).failures > record.outcome.user_us - 1;
        EXPECT_EQ(record.outcome.succeeded(), !fails) << "task " << record.task.value();
        EXPECT_EQ(recorded.output.out, "out\n");
    }
    for (std::uint64_t id = 0; id < faults.tasks; ++id) {
        const bool skipped = ledger.state(TaskId(id)) == engine::model::TaskState::skipped;
        ASSERT_EQ(finals[TaskId(id)], skipped ? 0 : 1) << "task " << id;
        ASSERT_TRUE(faults.flaky || !skipped) << "task " << id;
    }
    // A lease that arrives again after its end is run once more: no real network duplicates like that.
    if (faults.network.duplicate == 0) {
        EXPECT_THAT(simulation.wrong_starts(), ::testing::IsEmpty());
    }
    seen.losses += simulation.losses();
    seen.draws += simulation.draws();
    seen.departures += simulation.departures();
    std::set<std::pair<TaskId, Attempt>> ended;
    for (const records::recorder::Recorded& recorded : simulation.records())
        ended.emplace(recorded.record.task, static_cast<Attempt>(recorded.record.outcome.user_us));
    for (const auto& start : simulation.starts()) seen.unrecorded += ended.contains(start) ? 0 : 1;
    seen.with_tickets += simulation.used_tickets() ? 1 : 0;
    const auto contradiction = simulation.manager().reactor().audit();
    EXPECT_FALSE(contradiction) << *contradiction;
}

Seen check_all(const AppFaults& faults) {
    Seen seen;
    for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed)
        check(faults, seed, seen);
    EXPECT_EQ(seen.losses > 0, faults.losses > 0);
    EXPECT_GE(seen.with_tickets, faults.tickets ? seeds / 2 : 0);
    EXPECT_EQ(seen.draws > seeds, faults.by_counter);
    const bool rough =
        faults.flaky || faults.losses > 0 || faults.network.cut > 0 || faults.launcher_deaths > 0;
    EXPECT_TRUE(!rough || seen.second_attempts > seeds) << seen.second_attempts;
    return seen;
}

// An orderly departure costs no task an attempt: running tasks end there, the others are requeued.
void check_departures(const AppFaults& faults) {
    const Seen seen = check_all(faults);
    EXPECT_GT(seen.departures, seeds / 2);
    EXPECT_EQ(seen.interrupted, 0U);
    EXPECT_EQ(seen.unrecorded, 0U);
    EXPECT_LT(seen.most_attempts, 20U) << "leases went to and fro";
}

net::frames::LoopbackFaults late_and_twice() {
    net::frames::LoopbackFaults faults;
    faults.delay = 0.3;
    faults.most_delay = std::chrono::milliseconds(200);
    faults.duplicate = 0.1;
    return faults;
}

TEST(AppRun, WithoutFaults) {
    check_all({});
}

TEST(AppRun, WithGroupsAndFailures) {
    AppFaults faults;
    faults.groups = faults.flaky = true;
    check_all(faults);
}

TEST(AppRun, WithFramesLateAndTwice) {
    AppFaults faults;
    faults.groups = faults.flaky = true;
    faults.network = late_and_twice();
    check_all(faults);
}

TEST(AppRun, WithConnectionsCut) {
    AppFaults faults;
    faults.network = late_and_twice();
    faults.network.cut = 0.003;
    check_all(faults);
}

TEST(AppRun, WithWorkersLost) {
    AppFaults faults;
    faults.groups = true;
    faults.losses = 0.004;
    check_all(faults);
}

TEST(AppRun, WithLaunchersThatDie) {
    AppFaults faults;
    faults.flaky = true;
    faults.launcher_deaths = 0.01;
    check_all(faults);
}

TEST(AppRun, WithWorkersThatLeaveByThemselves) {
    AppFaults faults;
    faults.exits = 0.003;
    check_departures(faults);
}

TEST(AppRun, WithWorkersThatAreDismissed) {
    AppFaults faults;
    faults.nodes = faults.workers;
    faults.dismissals = 0.003;
    check_departures(faults);
}

TEST(AppRun, WithSlowStorage) {
    AppFaults faults;
    faults.slow_storage = true;
    faults.losses = 0.002;
    check_all(faults);
}

// The same faults for tickets by message and by counter, on one node and on several.
struct TicketPath {
    const char* name;
    std::uint32_t nodes;
    bool by_counter;
};

class AppRunByTicket : public ::testing::TestWithParam<TicketPath> {
  protected:
    AppFaults faults(std::uint64_t tasks) const {
        AppFaults faults;
        faults.tickets = true;
        faults.tasks = tasks;
        faults.nodes = GetParam().nodes;
        faults.by_counter = GetParam().by_counter;
        return faults;
    }
};

TEST_P(AppRunByTicket, WithoutFaults) {
    check_all(faults(400));
}

TEST_P(AppRunByTicket, WithFramesLate) {
    AppFaults faults = this->faults(400);
    faults.network = late_and_twice();
    faults.network.duplicate = 0;
    check_all(faults);
}

TEST_P(AppRunByTicket, WithRanksThatLeave) {
    AppFaults faults = this->faults(500);
    faults.exits = 0.002;
    check_departures(faults);
}

TEST_P(AppRunByTicket, WithRanksThatAreDismissed) {
    AppFaults faults = this->faults(500);
    faults.workers = faults.nodes = 3;
    faults.dismissals = 0.002;
    check_departures(faults);
}

TEST_P(AppRunByTicket, WithManyFaults) {
    AppFaults faults = this->faults(500);
    faults.flaky = faults.slow_storage = true;
    faults.workers = 4;
    faults.losses = 0.002;
    faults.launcher_deaths = 0.002;
    faults.counter_failures = GetParam().by_counter ? 0.02 : 0;
    faults.network = late_and_twice();
    faults.network.duplicate = 0;
    check_all(faults);
}

INSTANTIATE_TEST_SUITE_P(Paths, AppRunByTicket,
                         ::testing::Values(TicketPath{"OneNodeByMessage", 1, false},
                                           TicketPath{"TwoNodesByMessage", 2, false},
                                           TicketPath{"TwoNodesByCounter", 2, true},
                                           TicketPath{"ThreeNodesByCounter", 3, true}),
                         [](const auto& path) { return std::string(path.param.name); });

}  // namespace
}  // namespace wq::sim
