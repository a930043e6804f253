#include "engine/model/allocation.h"

#include <gmock/gmock.h>

#include <random>

namespace wq::engine::model {
namespace {

constexpr std::int64_t gb = 1024;

Count of_thousandths(std::int64_t number) {
    return Count::of_thousandths(number);
}

// How many of these tasks an empty worker runs at once.
std::int64_t fill(const Needs& needs, const Resources& whole,
                  const AllocationRules& rules = {.rest = Rest::proportional}) {
    Resources used;
    for (std::int64_t tasks = 0;; ++tasks) {
        used += allocate(needs, whole, rules);
        if (!used.fits_in(whole)) return tasks;
    }
}

Resources share(const Needs& needs, const Resources& whole, bool whole_tasks = true) {
    return allocate(needs, whole, {.rest = Rest::proportional, .whole_tasks = whole_tasks});
}

// The manual's worker.
const Resources manual{4, 12 * gb, 36 * gb, 0};

TEST(Allocation, ManualsExampleOfOneCore) {
    EXPECT_EQ(share({.cores = 1}, manual), (Resources{1, 3 * gb, 9 * gb, 0}));
}

TEST(Allocation, ManualsExampleOfOneCoreAndHalfOfTheMemory) {
    EXPECT_EQ(share({.cores = 1, .memory_mb = 6 * gb}, manual), (Resources{2, 6 * gb, 18 * gb, 0}));
}

TEST(Allocation, ManualsExampleOfThreeQuartersWhichNoOtherTaskCouldUse) {
    const Needs needs{.cores = 1, .memory_mb = 6 * gb, .disk_mb = 27 * gb};
    EXPECT_EQ(share(needs, manual), manual);
    EXPECT_EQ(share(needs, manual, false), (Resources{3, 9 * gb, 27 * gb, 0}));
    EXPECT_EQ(allocate(needs, manual, {.rest = Rest::with_cores}), (Resources{1, 6 * gb, 27 * gb, 0}));
}

TEST(Allocation, WhoSaysNothingGetsAllButTheGpus) {
    const Resources whole{8, 8000, 100, 2};
    for (const Rest rest : {Rest::with_cores, Rest::proportional, Rest::whole}) {
        EXPECT_EQ(allocate({}, whole, {.rest = rest}), (Resources{8, 8000, 100, 0}));
        // 0 means unspecified, as in Work Queue, except for cores: a task may hold none.
        EXPECT_EQ(allocate({.memory_mb = 0, .disk_mb = 0, .gpus = 0}, whole, {.rest = rest}),
                  (Resources{8, 8000, 100, 0}));
    }
    EXPECT_EQ(allocate({}, Resources{}), Resources{});
    EXPECT_TRUE(ever_fits({}, Resources{}));
}

TEST(Allocation, RemoteTasksGetACoprocessAndNothingElse) {
    const Resources whole{8, 8000, 100, 2, 3};
    for (const Needs& needs :
         {Needs{.coprocesses = 1}, Needs{.cores = 16, .memory_mb = 9000, .coprocesses = 1}})
        for (const Rest rest : {Rest::with_cores, Rest::proportional, Rest::whole}) {
            EXPECT_EQ(allocate(needs, whole, {.rest = rest}), (Resources{0, 0, 0, 0, 1}));
            EXPECT_EQ(fill(needs, whole, {.rest = rest}), 3);
            EXPECT_EQ(how_many_fit(allocate(needs, whole), whole), 3);
            EXPECT_TRUE(ever_fits(needs, whole));
            EXPECT_FALSE(ever_fits(needs, {8, 8000, 100, 2}));
        }
    EXPECT_EQ(describe(Needs{.cores = 16, .coprocesses = 1}), "1 coprocess");
    EXPECT_EQ(describe(whole), "8 cores, 8000 MB memory, 100 MB disk, 2 GPUs, 3 coprocesses");
}

TEST(Allocation, WhoAsksForGpusOnlyGetsNoCores) {
    const Resources whole{8, 8000, 100, 4};
    EXPECT_EQ(share({.gpus = 1}, whole), (Resources{0, 2000, 25, 1}));
    EXPECT_EQ(share({.cores = 1, .gpus = 1}, whole), (Resources{2, 2000, 25, 1}));
    EXPECT_EQ(share({.gpus = 4}, whole), (Resources{0, 8000, 100, 4}));
    EXPECT_EQ(fill({.gpus = 1}, whole), 4);
}

TEST(Allocation, TasksThatHoldNoCoreGetWhatTheySay) {
    const Resources whole{8, 8000, 100, 2};
    EXPECT_EQ(share({.cores = 0}, whole), Resources{});
    EXPECT_EQ(share({.cores = 0, .memory_mb = 10}, whole), (Resources{0, 10, 0, 0}));
}

TEST(Allocation, FractionsAreGivenAsTheyAreAskedFor) {
    const Resources whole{4, 4000, 800, 2};
    EXPECT_EQ(share({.cores = of_thousandths(500)}, whole), (Resources{of_thousandths(500), 500, 100, 0}));
    EXPECT_EQ(fill({.cores = of_thousandths(500)}, whole), 8);
    EXPECT_EQ(how_many_fit(share({.cores = of_thousandths(300)}, whole), whole), 12);  // three on a core
    // The memory share is larger, so whole cores are given.
    EXPECT_EQ(share({.cores = of_thousandths(500), .memory_mb = 2000}, whole), (Resources{2, 2000, 400, 0}));
    EXPECT_EQ(share({.gpus = of_thousandths(250)}, whole), (Resources{0, 500, 100, of_thousandths(250)}));
    EXPECT_EQ(fill({.gpus = of_thousandths(250)}, whole), 8);
}

TEST(Allocation, WhatNoWorkerHasFitsNowhere) {
    const Resources whole{8, 8000, 100, 0};
    for (const Needs& needs : {Needs{.cores = 9}, Needs{.cores = 1, .memory_mb = 8001}, Needs{.disk_mb = 101},
                               Needs{.gpus = 1}, Needs{.cores = of_thousandths(8001)}}) {
        EXPECT_FALSE(ever_fits(needs, whole));
        EXPECT_FALSE(share(needs, whole).fits_in(whole));
    }
}

// Work Queue's `proportional-resources 0`, as its wq_alloc_test.py has it.
TEST(Allocation, WithoutProportionsTheRestIsTheWholeWorker) {
    const Resources whole{4, 2000, 1000, 8};
    const auto given = [&](const Needs& needs) { return allocate(needs, whole, {.rest = Rest::whole}); };
    EXPECT_EQ(given({.cores = 1, .memory_mb = 2, .disk_mb = 3, .gpus = 4}), (Resources{1, 2, 3, 4}));
    EXPECT_EQ(given({.cores = 1, .memory_mb = 2, .disk_mb = 3}), (Resources{1, 2, 3, 0}));
    EXPECT_EQ(given({.memory_mb = 2, .disk_mb = 3, .gpus = 4}), (Resources{0, 2, 3, 4}));
    EXPECT_EQ(given({.cores = 1}), (Resources{1, 2000, 1000, 0}));
    EXPECT_EQ(given({.memory_mb = 500}), (Resources{4, 500, 1000, 0}));
    EXPECT_EQ(given({.gpus = 1}), (Resources{0, 2000, 1000, 1}));
    EXPECT_EQ(given({.cores = 0, .memory_mb = 10}), (Resources{0, 10, 0, 0}));
}

// The category of wq_alloc_test.py with max {memory: half}, min {cores: 3, gpus: 2}.
TEST(Allocation, AMinimumRaisesWhatIsBelowItAndNothingElse) {
    const Resources whole{4, 2000, 1000, 8};
    for (const Needs& least : {Needs{.cores = 3, .gpus = 2}, Needs{.cores = 3, .memory_mb = 900, .gpus = 2}})
        EXPECT_EQ(allocate(Ask({.memory_mb = 1000}, least), whole, {.rest = Rest::proportional}),
                  (Resources{3, 1000, 500, 2}));
    EXPECT_EQ(allocate(Ask({.cores = 1}, {.memory_mb = 1500}), whole, {.rest = Rest::proportional}),
              (Resources{1, 1500, 250, 0}));
    EXPECT_EQ(allocate(Ask({.cores = 1}, {.memory_mb = 1500}), whole), (Resources{1, 1500, 0, 0}));
    EXPECT_EQ(allocate(Ask({}, {.cores = 3, .gpus = 2}), whole, {.rest = Rest::proportional}),
              (Resources{4, 2000, 1000, 2}));
}

TEST(Allocation, TasksOfListsGetWhatIsSaidAndMemoryWithTheirCores) {
    const Resources whole{8, 8000, 100, 2};
    EXPECT_EQ(allocate({.cores = 3}, whole), (Resources{3, 3000, 0, 0}));
    EXPECT_EQ(allocate({.cores = of_thousandths(500)}, whole), (Resources{of_thousandths(500), 500, 0, 0}));
    EXPECT_EQ(allocate({.memory_mb = 5}, whole), (Resources{1, 5, 0, 0}));
    EXPECT_EQ(allocate({.gpus = 1}, whole), (Resources{0, 0, 0, 1}));
    EXPECT_EQ(allocate({.cores = 2, .disk_mb = 10, .gpus = 1}, whole), (Resources{2, 2000, 10, 1}));
    EXPECT_EQ(allocate({.cores = 0}, whole), Resources{});
    // More cores than exist fit nowhere, and get all of the memory, not more.
    EXPECT_EQ(allocate({.cores = 16}, whole), (Resources{16, 8000, 0, 0}));
    EXPECT_FALSE(allocate({.cores = 16}, whole).fits_in(whole));
}

// Where floating point loses one of 93, 99, 105, 117, 123...
TEST(Allocation, TasksOfOneCoreFillWorkersOfAnyNumberOfCores) {
    for (std::int64_t cores = 1; cores <= 256; ++cores)
        for (const std::int64_t memory : {cores, 1000 + cores, 64 * gb, std::int64_t{1} << 40}) {
            const Resources whole{cores, memory, 500'000, 0};
            EXPECT_EQ(fill({.cores = 1}, whole), cores) << cores << " cores, " << memory << " MB";
            EXPECT_LT(memory - cores * share({.cores = 1}, whole).memory_mb, cores);
        }
}

// Every k-th share, by cores and by memory, of each worker: the number of tasks is whole, no further one
// fits, and each gets at least what it asks for.
TEST(Allocation, OverSizesOfTasksAndWorkers) {
    for (std::int64_t cores = 1; cores <= 64; ++cores)
        for (std::int64_t wanted = 1; wanted <= cores; ++wanted) {
            const Resources whole{cores, 3 * gb * cores + 7, 11 * gb + cores, 0};
            const Needs by_cores{.cores = wanted};
            EXPECT_EQ(fill(by_cores, whole), cores / wanted);
            const Needs by_memory{.memory_mb = whole.memory_mb / wanted};
            EXPECT_EQ(fill(by_memory, whole), wanted) << cores;
        }
}

// Sizes without any pattern.
TEST(Allocation, GivesWhatIsAskedForAndNoMoreTasksThanFitByThat) {
    std::mt19937_64 random(7);
    const auto up_to = [&](std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(0, most)(random);
    };
    for (int i = 0; i < 20'000; ++i) {
        const Resources whole{1 + up_to(255), 1 + up_to(1 << 20), 1 + up_to(1 << 22), up_to(8)};
        Needs needs{.cores = of_thousandths(1000 * up_to(4) + 500 * up_to(1)),
                    .memory_mb = up_to(1 << 18) - 1,
                    .disk_mb = up_to(1 << 20) - 1,
                    .gpus = up_to(2) - 1};
        if (needs.cores == 0) needs.cores = -1;
        if (!ever_fits(needs, whole)) continue;
        for (const bool whole_tasks : {true, false}) {
            const Resources give = share(needs, whole, whole_tasks);
            ASSERT_TRUE(give.fits_in(whole)) << describe(needs) << " of " << describe(whole);
            ASSERT_TRUE(needs.cores <= give.cores && needs.memory_mb <= give.memory_mb &&
                        needs.disk_mb <= give.disk_mb && needs.gpus <= give.gpus);
        }
        // As many as fit by their requests, with whole cores and one at least.
        const std::int64_t tasks = fill(needs, whole);
        const std::int64_t by_need = fill(needs, whole, {.rest = Rest::with_cores});
        ASSERT_LE(tasks, by_need);
        const bool exact = needs.cores > 0 || needs.gpus > 0;
        ASSERT_TRUE(!exact || tasks == by_need) << describe(needs) << " of " << describe(whole);
    }
}

}  // namespace
}  // namespace wq::engine::model
