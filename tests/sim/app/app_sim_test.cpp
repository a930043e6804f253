#include <gmock/gmock.h>

#include "sim/app/app_simulation.h"

namespace wq::sim {
namespace {

constexpr std::uint64_t seeds = WQ_SIM_SEEDS;

// What happened in the runs of one weather: that there was weather at all.
struct Seen {
    std::uint64_t losses = 0;
    std::uint64_t second_attempts = 0;
    std::uint64_t with_tickets = 0;
    std::uint64_t draws = 0;  // from counters
    std::uint64_t departures = 0;
    std::uint64_t unrecorded = 0;   // attempts that were started, and nobody heard of their end
    std::uint64_t interrupted = 0;  // attempts that ended with their worker, or by our order
    Attempt most_attempts = 0;      // of one task
};

// Every task is recorded final exactly once (but for those that can never run), and ended as it does by
// itself.
void check(const AppWeather& weather, std::uint64_t seed, Seen& seen) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AppSimulation simulation(weather, seed);
    ASSERT_TRUE(simulation.run()) << "waits for " << simulation.manager().reactor().waiting_for();
    const core::Ledger& ledger = simulation.manager().reactor().ledger();
    std::map<TaskId, int> finals;
    std::map<TaskId, Attempt> last;
    for (const stats::Recorded& recorded : simulation.records()) {
        const stats::TaskRecord& record = recorded.record;
        EXPECT_GT(record.attempt, last[record.task]) << "task " << record.task.value();
        EXPECT_EQ(finals[record.task], 0) << "task " << record.task.value() << " went on after its end";
        last[record.task] = record.attempt;
        const core::Ending ending = record.outcome.ending;
        const bool crossed = record.outcome.reason.ends_with("with exit 3");  // a goodbye, on the way
        const bool interrupted =
            (ending == core::Ending::worker_lost && !crossed) || ending == core::Ending::killed;
        seen.interrupted += interrupted ? 1 : 0;
        seen.most_attempts = std::max(seen.most_attempts, record.attempt);
        seen.second_attempts += record.attempt == 2 ? 1 : 0;
        if (!record.final) continue;
        ++finals[record.task];
        const bool fails = simulation.task(record.task).failures > record.attempt - 1;
        EXPECT_EQ(record.outcome.succeeded(), !fails) << "task " << record.task.value();
        EXPECT_EQ(recorded.output.out, "out\n");
    }
    for (std::uint64_t id = 0; id < weather.tasks; ++id) {
        const bool skipped = ledger.state(TaskId(id)) == core::TaskState::skipped;
        ASSERT_EQ(finals[TaskId(id)], skipped ? 0 : 1) << "task " << id;
        ASSERT_TRUE(weather.flaky || !skipped) << "task " << id;
    }
    // A lease that comes a second time after its end is run once more: no real network does that.
    if (weather.network.duplicate == 0) {
        EXPECT_THAT(simulation.wrong_starts(), ::testing::IsEmpty());
    }
    seen.losses += simulation.losses();
    seen.draws += simulation.draws();
    seen.departures += simulation.departures();
    std::set<std::pair<TaskId, Attempt>> ended;
    for (const stats::Recorded& recorded : simulation.records())
        ended.emplace(recorded.record.task, recorded.record.attempt);
    for (const auto& start : simulation.starts()) seen.unrecorded += ended.contains(start) ? 0 : 1;
    seen.with_tickets += simulation.used_tickets() ? 1 : 0;
    const auto contradiction = simulation.manager().reactor().audit();
    EXPECT_FALSE(contradiction) << *contradiction;
}

Seen check_all(const AppWeather& weather) {
    Seen seen;
    for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed)
        check(weather, seed, seen);
    EXPECT_EQ(seen.losses > 0, weather.losses > 0);
    EXPECT_GE(seen.with_tickets, weather.tickets ? seeds / 2 : 0);
    EXPECT_EQ(seen.draws > seeds, weather.by_counter);
    const bool rough =
        weather.flaky || weather.losses > 0 || weather.network.cut > 0 || weather.launcher_deaths > 0;
    EXPECT_TRUE(!rough || seen.second_attempts > seeds) << seen.second_attempts;
    return seen;
}

// Who leaves in good order costs no task anything: what runs there ends there, the rest goes back.
void check_departures(const AppWeather& weather) {
    const Seen seen = check_all(weather);
    EXPECT_GT(seen.departures, seeds / 2);
    EXPECT_EQ(seen.interrupted, 0U);
    EXPECT_EQ(seen.unrecorded, 0U);
    EXPECT_LT(seen.most_attempts, 20U) << "leases went to and fro";
}

transport::LoopbackFaults late_and_twice() {
    transport::LoopbackFaults faults;
    faults.delay = 0.3;
    faults.most_delay = std::chrono::milliseconds(200);
    faults.duplicate = 0.1;
    return faults;
}

TEST(AppRun, InFairWeather) {
    check_all({});
}

TEST(AppRun, WithGroupsAndFailures) {
    AppWeather weather;
    weather.groups = weather.flaky = true;
    check_all(weather);
}

TEST(AppRun, WithFramesLateAndTwice) {
    AppWeather weather;
    weather.groups = weather.flaky = true;
    weather.network = late_and_twice();
    check_all(weather);
}

TEST(AppRun, WithConnectionsCut) {
    AppWeather weather;
    weather.network = late_and_twice();
    weather.network.cut = 0.003;
    check_all(weather);
}

TEST(AppRun, WithWorkersLost) {
    AppWeather weather;
    weather.groups = true;
    weather.losses = 0.004;
    check_all(weather);
}

TEST(AppRun, WithLaunchersThatDie) {
    AppWeather weather;
    weather.flaky = true;
    weather.launcher_deaths = 0.01;
    check_all(weather);
}

TEST(AppRun, WithWorkersThatLeaveByThemselves) {
    AppWeather weather;
    weather.exits = 0.003;
    check_departures(weather);
}

TEST(AppRun, WithWorkersThatAreDismissed) {
    AppWeather weather;
    weather.nodes = weather.workers;
    weather.dismissals = 0.003;
    check_departures(weather);
}

TEST(AppRun, WithSlowStorage) {
    AppWeather weather;
    weather.slow_storage = true;
    weather.losses = 0.002;
    check_all(weather);
}

// The same storms for tickets by message and by counter, on one node and on several.
struct TicketPath {
    const char* name;
    std::uint32_t nodes;
    bool by_counter;
};

class AppRunByTicket : public ::testing::TestWithParam<TicketPath> {
  protected:
    AppWeather weather(std::uint64_t tasks) const {
        AppWeather weather;
        weather.tickets = true;
        weather.tasks = tasks;
        weather.nodes = GetParam().nodes;
        weather.by_counter = GetParam().by_counter;
        return weather;
    }
};

TEST_P(AppRunByTicket, InFairWeather) {
    check_all(weather(400));
}

TEST_P(AppRunByTicket, WithFramesLate) {
    AppWeather weather = this->weather(400);
    weather.network = late_and_twice();
    weather.network.duplicate = 0;
    check_all(weather);
}

TEST_P(AppRunByTicket, WithRanksThatLeave) {
    AppWeather weather = this->weather(500);
    weather.exits = 0.002;
    check_departures(weather);
}

TEST_P(AppRunByTicket, WithRanksThatAreDismissed) {
    AppWeather weather = this->weather(500);
    weather.workers = weather.nodes = 3;
    weather.dismissals = 0.002;
    check_departures(weather);
}

TEST_P(AppRunByTicket, InRoughWeather) {
    AppWeather weather = this->weather(500);
    weather.flaky = weather.slow_storage = true;
    weather.workers = 4;
    weather.losses = 0.002;
    weather.launcher_deaths = 0.002;
    weather.counter_failures = GetParam().by_counter ? 0.02 : 0;
    weather.network = late_and_twice();
    weather.network.duplicate = 0;
    check_all(weather);
}

INSTANTIATE_TEST_SUITE_P(Paths, AppRunByTicket,
                         ::testing::Values(TicketPath{"OneNodeByMessage", 1, false},
                                           TicketPath{"TwoNodesByMessage", 2, false},
                                           TicketPath{"TwoNodesByCounter", 2, true},
                                           TicketPath{"ThreeNodesByCounter", 3, true}),
                         [](const auto& path) { return std::string(path.param.name); });

}  // namespace
}  // namespace wq::sim
