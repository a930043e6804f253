// Thousands of runs. A failure prints its seed; WQ_SIM_SEED=N runs only that one, WQ_SIM_RUNS=N runs more of
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

Counts run_all(const Faults& faults) {
    Counts counts;
    for (auto [seed, end] = seeds(); seed < end; ++seed) {
        Simulation simulation(faults, seed);
        const std::string wrong = simulation.run();
        counts += simulation.counts();
        EXPECT_EQ(wrong, "") << "seed " << seed;
        if (!wrong.empty()) break;
    }
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
    EXPECT_GT(run_all(storm()).stale, 0u);
}

TEST(CoreSim, WorkersComeAndGo) {
    Faults faults = storm();
    faults.losses = 0.05;
    faults.max_losses = 1000;  // so that every task that can succeed must succeed
    EXPECT_GT(run_all(faults).lost, 0u);
}

TEST(CoreSim, WorkersComeAndGoAndTasksAreBlamed) {
    Faults faults = storm();
    faults.losses = 0.05;
    EXPECT_GT(run_all(faults).alone, 0u);
}

TEST(CoreSim, QueuesInLaunchers) {
    Faults faults = storm();
    faults.short_tasks = true;
    faults.most_tasks = 120;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    const Counts counts = run_all(faults);
    EXPECT_GT(counts.queued, 0u);
    EXPECT_GT(counts.recalls, 0u);
}

TEST(CoreSim, InnocentNeighboursOfKillersNeverFail) {
    Faults faults = storm();
    faults.killers = 0.15;
    EXPECT_GT(run_all(faults).alone, 0u);
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
    EXPECT_GT(run_all(tickets()).tickets, 0u);
}

TEST(CoreSim, TicketsInAStorm) {
    Faults faults = tickets();
    faults.losses = 0.05;
    faults.max_losses = 1000;
    faults.late_joins = true;
    faults.storage_trouble = true;
    faults.short_tasks = false;
    EXPECT_GT(run_all(faults).tickets, 0u);
}

TEST(CoreSim, TicketsOfKillers) {
    Faults faults = tickets();
    faults.killers = 0.01;
    EXPECT_GT(run_all(faults).alone, 0u);
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
    for (auto [seed, end] = seeds(); seed < end; ++seed) {
        faults.stop = static_cast<core::StopReason>(seed % 4);
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
    const Counts counts = run_all(faults);
    EXPECT_GT(counts.kept, 0u);
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
    EXPECT_GT(run_all(faults).recalls, 0u);
}

TEST(CoreSim, InnocentNeighboursOfKillersNeverFailOverTcp) {
    Faults faults = cut_links();
    faults.max_losses = 3;
    faults.killers = 0.15;
    EXPECT_GT(run_all(faults).alone, 0u);
}

// Killers with their own limit of tries among other tasks: each may kill that many workers, and innocent
// tasks fail none.
TEST(CoreSim, LimitsOfLossesOfTheirOwn) {
    Faults faults = storm();
    faults.killers = 0.2;
    faults.own_limits = 0.6;
    EXPECT_GT(run_all(faults).alone, 0u);
    faults = tickets();
    faults.killers = 0.01;
    faults.own_limits = 0.5;
    run_all(faults);
}

// Without losses, the plan determines which tasks exceed their tries.
TEST(CoreSim, WhatTasksUseUpCountsAsTheirTries) {
    Faults faults = storm();
    faults.exhausting = 0.3;
    Counts counts = run_all(faults);
    EXPECT_GT(counts.spent, 0u);
    EXPECT_GT(counts.exhausted, counts.spent);
    faults = tickets();
    faults.exhausting = 0.1;
    EXPECT_GT(run_all(faults).spent, 0u);
    faults.losses = 0.05;
    run_all(faults);
}

TEST(CoreSim, WhatTakesTooLongIsEndedAndDoneAllTheSame) {
    Faults faults = storm();
    faults.slow = 0.15;
    faults.max_losses = 1000;
    EXPECT_GT(run_all(faults).aborted, 0u);
    faults = cut_links();
    faults.slow = 0.15;
    faults.long_cuts = 0.2;
    faults.losses = 0.02;
    faults.cancels = 0.05;
    faults.priorities = true;
    EXPECT_GT(run_all(faults).aborted, 0u);
    faults = tickets();
    faults.slow = 0.02;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    faults.short_tasks = false;
    EXPECT_GT(run_all(faults).aborted, 0u);
}

TEST(CoreSim, HostsThatAreBlockedAndUnblocked) {
    Faults faults = cut_links();
    faults.blocks = 0.2;
    faults.losses = 0.02;
    faults.drains = 0.02;
    EXPECT_GT(run_all(faults).blocks, 0u);
    faults = tickets();
    faults.blocks = 0.5;
    faults.late_joins = true;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    faults.short_tasks = false;
    EXPECT_GT(run_all(faults).blocks, 0u);
}

TEST(CoreSim, CopiesOfTheLastStragglersEndOnce) {
    Faults faults = storm();
    faults.slow = 0.1;
    faults.copies = true;
    faults.max_losses = 1000;
    EXPECT_GT(run_all(faults).copies, 0u);
    faults = cut_links();
    faults.slow = 0.1;
    faults.copies = true;
    faults.losses = 0.02;
    faults.long_cuts = 0.2;
    faults.cancels = 0.05;
    faults.drains = 0.01;
    faults.blocks = 0.05;
    EXPECT_GT(run_all(faults).copies, 0u);
    faults = tickets();
    faults.slow = 0.02;
    faults.copies = true;
    faults.ranges = true;
    faults.losses = 0.02;
    faults.short_tasks = false;
    faults.max_losses = 1000;
    EXPECT_GT(run_all(faults).copies, 0u);
}

TEST(CoreSim, ABrokenHostIsSetAside) {
    Faults faults = storm();
    faults.groups = false;
    faults.pins = false;
    faults.failures = 0;
    faults.most_tasks = 150;
    faults.broken = true;
    const Counts counts = run_all(faults);
    EXPECT_GT(counts.aside, 0u);
    EXPECT_GT(counts.released, 0u);
    faults.losses = 0.02;
    faults.max_losses = 1000;
    faults.blocks = 0.1;
    EXPECT_GT(run_all(faults).aside, 0u);
    faults = tickets();
    faults.failures = 0;
    faults.broken = true;
    faults.short_tasks = false;
    EXPECT_GT(run_all(faults).aside, 0u);
}

TEST(CoreSim, CancelledTasksEndOnceAndStayEnded) {
    Faults faults = cut_links();
    faults.cancels = 0.3;
    faults.long_cuts = 0.1;
    const Counts counts = run_all(faults);
    EXPECT_GT(counts.cancelled, 0u);
    EXPECT_GT(counts.killed, 0u);
    faults.cancelled_ranges = 0.5;
    EXPECT_GT(run_all(faults).cancelled, counts.cancelled);
}

TEST(CoreSim, PrioritiesAndTimes) {
    Faults faults = cut_links();
    faults.priorities = true;
    faults.times = 0.3;
    faults.cancels = 0.05;
    faults.drains = 0.01;
    EXPECT_GT(run_all(faults).expired, 0u);
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
    EXPECT_GT(run_all(faults).tickets, 0u);
}

// What categories learn is enough for each of their tasks at the second try.
TEST(CoreSim, CategoriesThatLearnWhatTheirTasksNeed) {
    Faults faults = storm();
    faults.categories = 0.7;
    EXPECT_GT(run_all(faults).exhausted, 0u);
    faults.most_tasks = 120;
    faults.losses = 0.02;
    faults.max_losses = 1000;
    faults.short_tasks = true;
    faults.proportional = true;
    EXPECT_GT(run_all(faults).exhausted, 0u);
    faults = cut_links();
    faults.categories = 0.7;
    faults.cancels = 0.1;
    faults.drains = 0.02;
    faults.slow = 0.1;
    faults.copies = true;
    EXPECT_GT(run_all(faults).exhausted, 0u);
}

// Includes tasks that the pool may claim.
TEST(CoreSim, HowManyRunAtOnceChangesWhileTasksAreSealed) {
    Faults faults = tickets();
    faults.limits = true;
    EXPECT_GT(run_all(faults).tickets, 0u);
    faults.short_tasks = false;
    faults.losses = 0.02;
    faults.late_joins = true;
    faults.max_losses = 1000;
    EXPECT_GT(run_all(faults).tickets, 0u);
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
    const Counts counts = run_all(faults);
    EXPECT_GT(counts.tickets, 0u);
    EXPECT_GT(counts.ranges, 0u);
    EXPECT_GT(counts.cancelled, 0u);
    EXPECT_GT(counts.kept, 0u);
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
