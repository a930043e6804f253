// Thousands of runs. A failure prints its seed; WQ_SIM_SEED=N runs that one alone, WQ_SIM_RUNS=N runs more of
// each.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/simulation.h"

namespace wq::sim {
namespace {

using namespace std::chrono_literals;

struct Seeds {
    std::uint64_t first = 1;
    std::uint64_t end = 301;
};

Seeds seeds() {
    const char* one = std::getenv("WQ_SIM_SEED");
    const char* runs = std::getenv("WQ_SIM_RUNS");
    const auto number = [](const char* text) { return std::strtoull(text, nullptr, 10); };
    if (one != nullptr) return {number(one), number(one) + 1};
    if (runs != nullptr) return {1, 1 + number(runs)};
    return {};
}

Counts run_all(const Weather& weather) {
    Counts counts;
    for (auto [seed, end] = seeds(); seed < end; ++seed) {
        Simulation simulation(weather, seed);
        const std::string wrong = simulation.run();
        counts += simulation.counts();
        EXPECT_EQ(wrong, "") << "seed " << seed;
        if (!wrong.empty()) break;
    }
    return counts;
}

Weather storm() {
    Weather weather;
    weather.groups = true;
    weather.failures = 0.2;
    weather.too_large = 0.02;
    weather.pins = true;
    weather.late_joins = true;
    weather.duplicates = 0.1;
    weather.most_delay = 300ms;
    return weather;
}

TEST(CoreSim, CalmWeather) {
    EXPECT_EQ(run_all({}).stale, 0u);
}

TEST(CoreSim, ADelayingAndRepeatingNetwork) {
    EXPECT_GT(run_all(storm()).stale, 0u);
}

TEST(CoreSim, WorkersComeAndGo) {
    Weather weather = storm();
    weather.losses = 0.05;
    weather.max_losses = 1000;  // so that every task that can succeed must
    EXPECT_GT(run_all(weather).lost, 0u);
}

TEST(CoreSim, WorkersComeAndGoAndTasksAreBlamed) {
    Weather weather = storm();
    weather.losses = 0.05;
    EXPECT_GT(run_all(weather).alone, 0u);
}

TEST(CoreSim, QueuesInLaunchers) {
    Weather weather = storm();
    weather.short_tasks = true;
    weather.most_tasks = 120;
    weather.losses = 0.02;
    weather.max_losses = 1000;
    const Counts counts = run_all(weather);
    EXPECT_GT(counts.queued, 0u);
    EXPECT_GT(counts.recalls, 0u);
}

TEST(CoreSim, InnocentNeighboursOfKillersNeverFail) {
    Weather weather = storm();
    weather.killers = 0.15;
    EXPECT_GT(run_all(weather).alone, 0u);
    weather.short_tasks = true;
    weather.killers = 0.3;
    run_all(weather);
}

Weather tickets() {
    Weather weather;
    weather.tickets = true;
    weather.twins = true;
    weather.most_tasks = 200;
    weather.most_workers = 4;
    weather.failures = 0.05;
    weather.duplicates = 0.05;
    weather.most_delay = 200ms;
    weather.short_tasks = true;
    return weather;
}

TEST(CoreSim, Tickets) {
    EXPECT_GT(run_all(tickets()).tickets, 0u);
}

TEST(CoreSim, TicketsInAStorm) {
    Weather weather = tickets();
    weather.losses = 0.05;
    weather.max_losses = 1000;
    weather.late_joins = true;
    weather.storage_trouble = true;
    weather.short_tasks = false;
    EXPECT_GT(run_all(weather).tickets, 0u);
}

TEST(CoreSim, TicketsOfKillers) {
    Weather weather = tickets();
    weather.killers = 0.01;
    EXPECT_GT(run_all(weather).alone, 0u);
}

TEST(CoreSim, StorageTrouble) {
    Weather weather = storm();
    weather.storage_trouble = true;
    run_all(weather);
}

TEST(CoreSim, ResumedLists) {
    Weather weather = storm();
    weather.resumed = true;
    run_all(weather);
}

TEST(CoreSim, HaltOnFailure) {
    Weather weather = storm();
    weather.halt_on_failure = true;
    weather.losses = 0.02;
    weather.max_losses = 1000;
    run_all(weather);
}

// A run that is stopped at any moment and resumed ends as one that was left alone, and runs nothing again
// that ended.
void stop_and_resume(Weather weather) {
    std::uint64_t stopped = 0;
    for (auto [seed, end] = seeds(); seed < end; ++seed) {
        weather.stop = static_cast<core::StopReason>(seed % 4);
        Simulation first(weather, seed);
        ASSERT_EQ(first.run(), "") << "seed " << seed;
        if (first.reactor().stopping()) ++stopped;
        Weather calm = weather;
        calm.stop.reset();
        Simulation second(calm, seed, first.rest());
        ASSERT_EQ(second.run(), "") << "seed " << seed << ", resumed";
    }
    EXPECT_TRUE(stopped > 0 || std::getenv("WQ_SIM_SEED") != nullptr);
}

TEST(CoreSim, StoppedAndResumed) {
    Weather weather = storm();
    weather.losses = 0.02;
    weather.max_losses = 1000;
    stop_and_resume(weather);
}

TEST(CoreSim, StoppedAndResumedWithTickets) {
    Weather weather = tickets();
    weather.short_tasks = false;
    weather.losses = 0.02;
    weather.max_losses = 1000;
    stop_and_resume(weather);
}

Weather cut_links() {
    Weather weather = storm();
    weather.duplicates = 0;
    weather.tcp = true;
    weather.cuts = 0.1;
    weather.max_losses = 1000;
    return weather;
}

TEST(CoreSim, LinksThatAreCutAndMendedCostNothing) {
    Weather weather = cut_links();
    weather.max_losses = 1;  // so that a cut that counted as a loss would fail a task
    const Counts counts = run_all(weather);
    EXPECT_GT(counts.kept, 0u);
    EXPECT_EQ(counts.lost, 0u);
}

TEST(CoreSim, LinksThatAreCutForTooLong) {
    Weather weather = cut_links();
    weather.long_cuts = 0.3;
    weather.losses = 0.02;
    weather.drains = 0.02;
    const Counts counts = run_all(weather);
    EXPECT_GT(counts.cuts, counts.kept);
    EXPECT_GT(counts.drains, 0u);
}

TEST(CoreSim, LinksThatAreCutWithQueuesInLaunchers) {
    Weather weather = cut_links();
    weather.short_tasks = true;
    weather.most_tasks = 120;
    weather.long_cuts = 0.1;
    weather.drains = 0.02;
    EXPECT_GT(run_all(weather).recalls, 0u);
}

TEST(CoreSim, InnocentNeighboursOfKillersNeverFailOverTcp) {
    Weather weather = cut_links();
    weather.max_losses = 3;
    weather.killers = 0.15;
    EXPECT_GT(run_all(weather).alone, 0u);
}

// Killers of their own patience among others: each kills as many workers as it may, and innocents none.
TEST(CoreSim, LimitsOfLossesOfTheirOwn) {
    Weather weather = storm();
    weather.killers = 0.2;
    weather.own_limits = 0.6;
    EXPECT_GT(run_all(weather).alone, 0u);
    weather = tickets();
    weather.killers = 0.01;
    weather.own_limits = 0.5;
    run_all(weather);
}

// Without losses it is the plan that says who is tried too often.
TEST(CoreSim, WhatTasksUseUpCountsAsTheirTries) {
    Weather weather = storm();
    weather.exhausting = 0.3;
    Counts counts = run_all(weather);
    EXPECT_GT(counts.spent, 0u);
    EXPECT_GT(counts.exhausted, counts.spent);
    weather = tickets();
    weather.exhausting = 0.1;
    EXPECT_GT(run_all(weather).spent, 0u);
    weather.losses = 0.05;
    run_all(weather);
}

TEST(CoreSim, WhatTakesTooLongIsEndedAndDoneAllTheSame) {
    Weather weather = storm();
    weather.slow = 0.15;
    weather.max_losses = 1000;
    EXPECT_GT(run_all(weather).aborted, 0u);
    weather = cut_links();
    weather.slow = 0.15;
    weather.long_cuts = 0.2;
    weather.losses = 0.02;
    weather.cancels = 0.05;
    weather.priorities = true;
    EXPECT_GT(run_all(weather).aborted, 0u);
    weather = tickets();
    weather.slow = 0.02;
    weather.losses = 0.02;
    weather.max_losses = 1000;
    weather.short_tasks = false;
    EXPECT_GT(run_all(weather).aborted, 0u);
}

TEST(CoreSim, HostsThatAreBlockedAndUnblocked) {
    Weather weather = cut_links();
    weather.blocks = 0.2;
    weather.losses = 0.02;
    weather.drains = 0.02;
    EXPECT_GT(run_all(weather).blocks, 0u);
    weather = tickets();
    weather.blocks = 0.5;
    weather.late_joins = true;
    weather.losses = 0.02;
    weather.max_losses = 1000;
    weather.short_tasks = false;
    EXPECT_GT(run_all(weather).blocks, 0u);
}

TEST(CoreSim, CopiesOfTheLastStragglersEndOnce) {
    Weather weather = storm();
    weather.slow = 0.1;
    weather.copies = true;
    weather.max_losses = 1000;
    EXPECT_GT(run_all(weather).copies, 0u);
    weather = cut_links();
    weather.slow = 0.1;
    weather.copies = true;
    weather.losses = 0.02;
    weather.long_cuts = 0.2;
    weather.cancels = 0.05;
    weather.drains = 0.01;
    weather.blocks = 0.05;
    EXPECT_GT(run_all(weather).copies, 0u);
    weather = tickets();
    weather.slow = 0.02;
    weather.copies = true;
    weather.ranges = true;
    weather.losses = 0.02;
    weather.short_tasks = false;
    weather.max_losses = 1000;
    EXPECT_GT(run_all(weather).copies, 0u);
}

TEST(CoreSim, ABrokenHostIsSetAside) {
    Weather weather = storm();
    weather.groups = false;
    weather.pins = false;
    weather.failures = 0;
    weather.most_tasks = 150;
    weather.broken = true;
    const Counts counts = run_all(weather);
    EXPECT_GT(counts.aside, 0u);
    EXPECT_GT(counts.released, 0u);
    weather.losses = 0.02;
    weather.max_losses = 1000;
    weather.blocks = 0.1;
    EXPECT_GT(run_all(weather).aside, 0u);
    weather = tickets();
    weather.failures = 0;
    weather.broken = true;
    weather.short_tasks = false;
    EXPECT_GT(run_all(weather).aside, 0u);
}

TEST(CoreSim, CancelledTasksEndOnceAndStayEnded) {
    Weather weather = cut_links();
    weather.cancels = 0.3;
    weather.long_cuts = 0.1;
    const Counts counts = run_all(weather);
    EXPECT_GT(counts.cancelled, 0u);
    EXPECT_GT(counts.killed, 0u);
    weather.cancelled_ranges = 0.5;
    EXPECT_GT(run_all(weather).cancelled, counts.cancelled);
}

TEST(CoreSim, PrioritiesAndTimes) {
    Weather weather = cut_links();
    weather.priorities = true;
    weather.times = 0.3;
    weather.cancels = 0.05;
    weather.drains = 0.01;
    EXPECT_GT(run_all(weather).expired, 0u);
}

// However much tasks are given, all of them end, and none is given what another one has.
TEST(CoreSim, WholeWorkersAndShares) {
    Weather weather = storm();
    weather.proportional = true;
    run_all(weather);
}

TEST(CoreSim, WholeWorkersAndSharesByTicket) {
    Weather weather = tickets();
    weather.proportional = true;
    weather.losses = 0.02;
    weather.max_losses = 1000;
    EXPECT_GT(run_all(weather).tickets, 0u);
}

// What categories learn of their tasks is enough for each of them at the second try.
TEST(CoreSim, CategoriesThatLearnWhatTheirTasksNeed) {
    Weather weather = storm();
    weather.categories = 0.7;
    EXPECT_GT(run_all(weather).exhausted, 0u);
    weather.most_tasks = 120;
    weather.losses = 0.02;
    weather.max_losses = 1000;
    weather.short_tasks = true;
    weather.proportional = true;
    EXPECT_GT(run_all(weather).exhausted, 0u);
    weather = cut_links();
    weather.categories = 0.7;
    weather.cancels = 0.1;
    weather.drains = 0.02;
    weather.slow = 0.1;
    weather.copies = true;
    EXPECT_GT(run_all(weather).exhausted, 0u);
}

// Also of those that the pool may claim.
TEST(CoreSim, HowManyRunAtOnceChangesWhileTasksAreSealed) {
    Weather weather = tickets();
    weather.limits = true;
    EXPECT_GT(run_all(weather).tickets, 0u);
    weather.short_tasks = false;
    weather.losses = 0.02;
    weather.late_joins = true;
    weather.max_losses = 1000;
    EXPECT_GT(run_all(weather).tickets, 0u);
}

// Ranks by ticket beside workers by lease.
TEST(CoreSim, MixedPools) {
    Weather weather = tickets();
    weather.most_workers = 6;
    weather.most_tasks = 120;
    weather.tcp = true;
    weather.ranges = true;
    weather.cuts = 0.05;
    weather.long_cuts = 0.2;
    weather.losses = 0.02;
    weather.drains = 0.02;
    weather.cancels = 0.3;
    weather.cancelled_ranges = 0.3;
    weather.priorities = true;
    weather.late_joins = true;
    weather.max_losses = 1000;
    weather.short_tasks = false;
    const Counts counts = run_all(weather);
    EXPECT_GT(counts.tickets, 0u);
    EXPECT_GT(counts.ranges, 0u);
    EXPECT_GT(counts.cancelled, 0u);
    EXPECT_GT(counts.kept, 0u);
}

TEST(CoreSim, ASeedIsARun) {
    Weather weather = cut_links();
    weather.long_cuts = 0.2;
    weather.cancels = 0.1;
    weather.priorities = true;
    const Counts first = run_all(weather);
    const Counts second = run_all(weather);
    EXPECT_EQ(first.digest, second.digest);
    EXPECT_EQ(first.events, second.events);
}

}  // namespace
}  // namespace wq::sim
