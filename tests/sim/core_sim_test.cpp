// Thousands of runs. A failure prints its seed; WQ_SIM_SEED=N runs only that one, WQ_SIM_RUNS=N runs more of
// each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "sim/simulation.h"

namespace wq::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t most_runs = 300;
#ifndef WQ_SIM_ENOUGH
#define WQ_SIM_ENOUGH most_runs
#endif

struct Seeds {
    std::uint64_t first = 1;
    std::uint64_t end = 1 + most_runs;
    std::uint64_t enough = WQ_SIM_ENOUGH;  // runs, once all that a test expects has occurred
};

Seeds seeds() {
    const char* one = std::getenv("WQ_SIM_SEED");
    const char* runs = std::getenv("WQ_SIM_RUNS");
    const auto number = [](const char* text) { return std::strtoull(text, nullptr, 10); };
    if (one != nullptr) return {number(one), number(one) + 1, 1};
    if (runs != nullptr) return {1, 1 + number(runs), number(runs)};
    return {};
}

// Each of `expected` must occur in some run.
Counts run_all(const Faults& faults, std::initializer_list<std::uint64_t Counts::*> expected = {}) {
    Counts counts;
    const auto occurred = [&](std::uint64_t Counts::*count) { return counts.*count > 0; };
    const auto all_occurred = [&] { return std::all_of(expected.begin(), expected.end(), occurred); };
    const Seeds these = seeds();
    for (std::uint64_t seed = these.first; seed < these.end; ++seed) {
        if (seed - these.first >= these.enough && all_occurred()) break;
        Simulation simulation(faults, seed);
        const std::string wrong = simulation.run();
        counts += simulation.counts();
        ++counts.runs;
        EXPECT_EQ(wrong, "") << "seed " << seed;
        if (!wrong.empty()) break;
    }
    EXPECT_TRUE(all_occurred() || ::testing::Test::HasFailure() || std::getenv("WQ_SIM_SEED") != nullptr)
        << "no run had number "
        << std::find_if_not(expected.begin(), expected.end(), occurred) - expected.begin()
        << " of what this test expects";
    return counts;
}

Faults storm() {
    Faults faults;
    faults.groups = true;
    faults.failures = 0.2;
    faults.too_large = 0.02;
    faults.pins = true;
    faults.late_joins = true;
    faults.duplicates = 0.1;
    faults.most_delay = 300ms;
    return faults;
}

TEST(CoreSim, WithoutFaults) {
    EXPECT_EQ(run_all({}).stale, 0u);
}

TEST(CoreSim, ADelayingAndRepeatingNetwork) {
    run_all(storm(), {&Counts::stale});
}

TEST(CoreSim, WorkersComeAndGo) {
    Faults faults = storm();
    faults.losses = 0.05;
    faults.max_losses = 1000;  // so that every task that can succeed must succeed
    run_all(faults, {&Counts::lost});
}

TEST(CoreSim, WorkersComeAndGoAndTasksAreBlamed) {
    Faults faults = storm();
    faults.losses = 0.05;
    run_all(faults, {&Counts::alone});
}

TEST(CoreSim, QueuesInLaunchers) {
    Faults faults = storm();
    faults.short_tasks = true;
    faults.most_tasks = 120;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    run_all(faults, {&Counts::queued, &Counts::recalls});
}

TEST(CoreSim, RemoteTasksBesideOthers) {
    Faults faults = storm();
    faults.remote = 0.5;
    faults.short_tasks = true;
    faults.most_tasks = 120;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    run_all(faults, {&Counts::queued, &Counts::recalls});
}

TEST(CoreSim, InnocentNeighboursOfKillersNeverFail) {
    Faults faults = storm();
    faults.killers = 0.15;
    run_all(faults, {&Counts::alone});
    faults.short_tasks = true;
    faults.killers = 0.3;
    run_all(faults);
}

Faults tickets() {
    Faults faults;
    faults.tickets = true;
    faults.twins = true;
    faults.most_tasks = 200;
    faults.most_workers = 4;
    faults.failures = 0.05;
    faults.duplicates = 0.05;
    faults.most_delay = 200ms;
    faults.short_tasks = true;
    return faults;
}

TEST(CoreSim, Tickets) {
    run_all(tickets(), {&Counts::tickets});
}

TEST(CoreSim, TicketsInAStorm) {
    Faults faults = tickets();
    faults.losses = 0.05;
    faults.max_losses = 1000;
    faults.late_joins = true;
    faults.storage_trouble = true;
    faults.short_tasks = false;
    run_all(faults, {&Counts::tickets});
}

TEST(CoreSim, TicketsOfKillers) {
    Faults faults = tickets();
    faults.killers = 0.01;
    run_all(faults, {&Counts::alone});
}

TEST(CoreSim, StorageTrouble) {
    Faults faults = storm();
    faults.storage_trouble = true;
    run_all(faults);
}

TEST(CoreSim, ResumedLists) {
    Faults faults = storm();
    faults.resumed = true;
    run_all(faults);
}

TEST(CoreSim, HaltOnFailure) {
    Faults faults = storm();
    faults.halt_on_failure = true;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    run_all(faults);
}

// A run that is stopped at any moment and resumed ends like an uninterrupted one, and repeats nothing that
// ended.
void stop_and_resume(Faults faults) {
    std::uint64_t stopped = 0;
    const Seeds these = seeds();
    for (std::uint64_t seed = these.first; seed < these.end; ++seed) {
        if (seed - these.first >= these.enough && stopped > 0) break;
        faults.stop = static_cast<engine::model::StopReason>(seed % 4);
        Simulation first(faults, seed);
        ASSERT_EQ(first.run(), "") << "seed " << seed;
        if (first.reactor().stopping()) ++stopped;
        Faults calm = faults;
        calm.stop.reset();
        Simulation second(calm, seed, first.rest());
        ASSERT_EQ(second.run(), "") << "seed " << seed << ", resumed";
    }
    EXPECT_TRUE(stopped > 0 || std::getenv("WQ_SIM_SEED") != nullptr);
}

TEST(CoreSim, StoppedAndResumed) {
    Faults faults = storm();
    faults.losses = 0.02;
    faults.max_losses = 1000;
    stop_and_resume(faults);
}

TEST(CoreSim, StoppedAndResumedWithTickets) {
    Faults faults = tickets();
    faults.short_tasks = false;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    stop_and_resume(faults);
}

Faults cut_links() {
    Faults faults = storm();
    faults.duplicates = 0;
    faults.tcp = true;
    faults.cuts = 0.1;
    faults.max_losses = 1000;
    return faults;
}

TEST(CoreSim, LinksThatAreCutAndMendedCostNothing) {
    Faults faults = cut_links();
    faults.max_losses = 1;  // so that a disconnection that counted as a loss would fail a task
    const Counts counts = run_all(faults, {&Counts::kept});
    EXPECT_EQ(counts.lost, 0u);
}

TEST(CoreSim, LinksThatAreCutForTooLong) {
    Faults faults = cut_links();
    faults.long_cuts = 0.3;
    faults.losses = 0.02;
    faults.drains = 0.02;
    const Counts counts = run_all(faults);
    EXPECT_GT(counts.cuts, counts.kept);
    EXPECT_GT(counts.drains, 0u);
}

TEST(CoreSim, LinksThatAreCutWithQueuesInLaunchers) {
    Faults faults = cut_links();
    faults.short_tasks = true;
    faults.most_tasks = 120;
    faults.long_cuts = 0.1;
    faults.drains = 0.02;
    run_all(faults, {&Counts::recalls});
}

TEST(CoreSim, InnocentNeighboursOfKillersNeverFailOverTcp) {
    Faults faults = cut_links();
    faults.max_losses = 3;
    faults.killers = 0.15;
    run_all(faults, {&Counts::alone});
}

// Killers with their own limit of tries among other tasks: each may kill that many workers, and innocent
// tasks fail none.
TEST(CoreSim, LimitsOfLossesOfTheirOwn) {
    Faults faults = storm();
    faults.killers = 0.2;
    faults.own_limits = 0.6;
    run_all(faults, {&Counts::alone});
    faults = tickets();
    faults.killers = 0.01;
    faults.own_limits = 0.5;
    run_all(faults);
}

// Without losses, the plan determines which tasks exceed their tries.
TEST(CoreSim, WhatTasksUseUpCountsAsTheirTries) {
    Faults faults = storm();
    faults.exhausting = 0.3;
    const Counts counts = run_all(faults, {&Counts::spent});
    EXPECT_GT(counts.exhausted, counts.spent);
    faults = tickets();
    faults.exhausting = 0.1;
    run_all(faults, {&Counts::spent});
    faults.losses = 0.05;
    run_all(faults);
}

TEST(CoreSim, WhatTakesTooLongIsEndedAndDoneAllTheSame) {
    Faults faults = storm();
    faults.slow = 0.15;
    faults.max_losses = 1000;
    run_all(faults, {&Counts::aborted});
    faults = cut_links();
    faults.slow = 0.15;
    faults.long_cuts = 0.2;
    faults.losses = 0.02;
    faults.cancels = 0.05;
    faults.priorities = true;
    run_all(faults, {&Counts::aborted});
    faults = tickets();
    faults.slow = 0.02;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    faults.short_tasks = false;
    run_all(faults, {&Counts::aborted});
}

TEST(CoreSim, HostsThatAreBlockedAndUnblocked) {
    Faults faults = cut_links();
    faults.blocks = 0.2;
    faults.losses = 0.02;
    faults.drains = 0.02;
    run_all(faults, {&Counts::blocks});
    faults = tickets();
    faults.blocks = 0.5;
    faults.late_joins = true;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    faults.short_tasks = false;
    run_all(faults, {&Counts::blocks});
}

TEST(CoreSim, CopiesOfTheLastStragglersEndOnce) {
    Faults faults = storm();
    faults.slow = 0.1;
    faults.copies = true;
    faults.max_losses = 1000;
    run_all(faults, {&Counts::copies});
    faults = cut_links();
    faults.slow = 0.1;
    faults.copies = true;
    faults.losses = 0.02;
    faults.long_cuts = 0.2;
    faults.cancels = 0.05;
    faults.drains = 0.01;
    faults.blocks = 0.05;
    run_all(faults, {&Counts::copies});
    faults = tickets();
    faults.slow = 0.02;
    faults.copies = true;
    faults.ranges = true;
    faults.losses = 0.02;
    faults.short_tasks = false;
    faults.max_losses = 1000;
    run_all(faults, {&Counts::copies});
}

TEST(CoreSim, ABrokenHostIsExcluded) {
    Faults faults = storm();
    faults.groups = false;
    faults.pins = false;
    faults.failures = 0;
    faults.most_tasks = 150;
    faults.broken = true;
    run_all(faults, {&Counts::excluded, &Counts::released});
    faults.losses = 0.02;
    faults.max_losses = 1000;
    faults.blocks = 0.1;
    run_all(faults, {&Counts::excluded});
    faults = tickets();
    faults.failures = 0;
    faults.broken = true;
    faults.short_tasks = false;
    run_all(faults, {&Counts::excluded});
}

TEST(CoreSim, CancelledTasksEndOnceAndStayEnded) {
    Faults faults = cut_links();
    faults.cancels = 0.3;
    faults.long_cuts = 0.1;
    const Counts counts = run_all(faults, {&Counts::cancelled, &Counts::killed});
    faults.cancelled_ranges = 0.5;
    const Counts with_ranges = run_all(faults);
    EXPECT_GT(with_ranges.cancelled * counts.runs, counts.cancelled * with_ranges.runs);
}

TEST(CoreSim, PrioritiesAndTimes) {
    Faults faults = cut_links();
    faults.priorities = true;
    faults.times = 0.3;
    faults.cancels = 0.05;
    faults.drains = 0.01;
    run_all(faults, {&Counts::expired});
}

// Whatever tasks get, all of them end, and no resource is given twice.
TEST(CoreSim, WholeWorkersAndShares) {
    Faults faults = storm();
    faults.proportional = true;
    run_all(faults);
}

TEST(CoreSim, WholeWorkersAndSharesByTicket) {
    Faults faults = tickets();
    faults.proportional = true;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    run_all(faults, {&Counts::tickets});
}

// What categories learn is enough for each of their tasks at the second try.
TEST(CoreSim, CategoriesThatLearnWhatTheirTasksNeed) {
    Faults faults = storm();
    faults.categories = 0.7;
    run_all(faults, {&Counts::exhausted});
    faults.most_tasks = 120;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    faults.short_tasks = true;
    faults.proportional = true;
    run_all(faults, {&Counts::exhausted});
    faults = cut_links();
    faults.categories = 0.7;
    faults.cancels = 0.1;
    faults.drains = 0.02;
    faults.slow = 0.1;
    faults.copies = true;
    run_all(faults, {&Counts::exhausted});
}

// Includes tasks that the pool may claim.
TEST(CoreSim, HowManyRunAtOnceChangesWhileTasksAreSealed) {
    Faults faults = tickets();
    faults.limits = true;
    run_all(faults, {&Counts::tickets});
    faults.short_tasks = false;
    faults.losses = 0.02;
    faults.late_joins = true;
    faults.max_losses = 1000;
    run_all(faults, {&Counts::tickets});
}

// Ranks with tickets beside workers with leases.
TEST(CoreSim, MixedPools) {
    Faults faults = tickets();
    faults.most_workers = 6;
    faults.most_tasks = 120;
    faults.tcp = true;
    faults.ranges = true;
    faults.cuts = 0.05;
    faults.long_cuts = 0.2;
    faults.losses = 0.02;
    faults.drains = 0.02;
    faults.cancels = 0.3;
    faults.cancelled_ranges = 0.3;
    faults.priorities = true;
    faults.late_joins = true;
    faults.max_losses = 1000;
    faults.short_tasks = false;
    run_all(faults, {&Counts::tickets, &Counts::ranges, &Counts::cancelled, &Counts::kept});
}

TEST(CoreSim, ASeedIsARun) {
    Faults faults = cut_links();
    faults.long_cuts = 0.2;
    faults.cancels = 0.1;
    faults.priorities = true;
    const Counts first = run_all(faults);
    const Counts second = run_all(faults);
    EXPECT_EQ(first.digest, second.digest);
    EXPECT_EQ(first.events, second.events);
}

}  // namespace
}  // namespace wq::sim
