// Work Queue's manual on categories, statement by statement.
#include "engine/model/task_category.h"

#include <gtest/gtest.h>

#include "category_fixture.h"

namespace wq::engine::model {
namespace {

using namespace testing;

constexpr std::int64_t whole = whole_worker;

TEST(Category, IsNamedDefaultAndFixedUnlessSaid) {
    const Category category;
    EXPECT_EQ(category.name(), "default");
    EXPECT_EQ(category.mode(), AllocationMode::fixed);
    EXPECT_EQ(category.max_concurrent(), -1);
    EXPECT_EQ(Category("x", AllocationMode::min_waste).mode(), AllocationMode::min_waste)
        << "the default of whoever creates categories";
}

// "Note that it is not necessary to specify all the resources."
TEST_F(CategoryTest, FixedGivesTheMaximumAndLeavesTheRestToTheManager) {
    category_.set_mode(AllocationMode::fixed);
    EXPECT_EQ(first(), nothing);
    category_.set_max({.cores = 2000, .memory_mb = 1024, .disk_mb = 2048, .gpus = 0});
    EXPECT_EQ(first(), (Sizes{2000, 1024, 2048, 0}));
    EXPECT_EQ(at_maximum(), first());
    category_.set_max({.cores = 1000});
    EXPECT_EQ(first(), (Sizes{.cores = 1000})) << "it replaces all that was said";
    complete(100, {.cores = 500, .memory_mb = 10, .disk_mb = 10});
    EXPECT_EQ(first(), (Sizes{.cores = 1000})) << "whatever is measured";
    category_.set_max({});
    EXPECT_EQ(first(), nothing);
}

// "The resources directly specified take precedence over the category declaration for that task" ... "such
// resources are fixed for the task and are not modified when more efficient values are found."
TEST_F(CategoryTest, WhatATaskSaysItselfIsItsOwn) {
    const Sizes said{.cores = 500, .memory_mb = 7777};
    category_.set_max({.cores = 2000, .memory_mb = 1024, .disk_mb = 2048});
    category_.set_min({.cores = 1000, .memory_mb = 512});
    category_.set_first({.cores = 1500, .memory_mb = 600});
    for (const AllocationMode mode : {AllocationMode::fixed, AllocationMode::max, AllocationMode::min_waste,
                                      AllocationMode::max_throughput}) {
        category_.set_mode(mode);
        EXPECT_EQ(first(said), (Sizes{500, 7777, 2048, mode == AllocationMode::fixed ? unsaid : 0}));
        EXPECT_EQ(at_maximum(said), first(said));
    }
    complete(50, {.cores = 1000, .memory_mb = 600, .disk_mb = 100});
    EXPECT_EQ(first(said), (Sizes{500, 7777, 250, 0})) << "only what it does not say is computed";
    EXPECT_EQ(at_maximum(said), (Sizes{500, 7777, 2048, 0}));
    EXPECT_EQ(first({0, 0, 0, 2000}), (Sizes{0, 0, 0, 2000})) << "nothing is something to say";
}

// "If any of cores, memory or disk are left unspecified [...] then Work Queue will run some tasks using whole
// workers [...] As before, unspecified gpus default to 0."
TEST_F(CategoryTest, SamplesAreCollectedOnWholeWorkers) {
    EXPECT_EQ(first(), (Sizes{whole, whole, whole, 0}));
    complete(25, {.cores = 1000, .memory_mb = 100, .disk_mb = 100});
    EXPECT_EQ(first(), (Sizes{whole, whole, whole, 0}));
    complete(1, {.cores = 1000, .memory_mb = 100, .disk_mb = 100});
    EXPECT_EQ(first(), (Sizes{1000, 250, 250, 0})) << "25 after the first brought no new maximum";
}

// "Tasks in 'my-category-b' will never use more than two cores."
TEST_F(CategoryTest, AMaximumHoldsFromTheStart) {
    category_.set_max({.cores = 2000});
    EXPECT_EQ(first(), (Sizes{2000, whole, whole, 0}));
    complete(50, {.cores = 6000, .memory_mb = 100, .disk_mb = 100});
    EXPECT_EQ(first().cores, 2000);
    EXPECT_EQ(at_maximum(), (Sizes{2000, whole, whole, 0}));
}

// "If all cores, memory, and disk are specified, then Work Queue uses these maximum values instead of using
// whole workers."
TEST_F(CategoryTest, SamplesAreCollectedWithTheMaximumWhereAllOfItIsSaid) {
    const Sizes most{.cores = 4000, .memory_mb = 8000, .disk_mb = 9000};
    category_.set_max(most);
    EXPECT_EQ(first(), (Sizes{4000, 8000, 9000, 0}));
    complete(26, {.cores = 1000, .memory_mb = 100, .disk_mb = 300});
    EXPECT_EQ(first(), (Sizes{1000, 250, 500, 0}));
    EXPECT_EQ(at_maximum(), (Sizes{4000, 8000, 9000, 0}))
        << "retried using the values of specify_max_resources";
}

TEST_F(CategoryTest, AGuessIsTriedWhileSamplesAreCollected) {
    category_.set_first({.cores = 1000, .memory_mb = 2000});
    EXPECT_EQ(first(), (Sizes{1000, 2000, whole, 0}));
    category_.set_max({.memory_mb = 1500});
    category_.set_min({.cores = 2000});
    EXPECT_EQ(first(), (Sizes{2000, 1500, whole, 0})) << "within the bounds";
    EXPECT_EQ(at_maximum(), (Sizes{whole, 1500, whole, 0}));
    complete(26, {.cores = 1000, .memory_mb = 100, .disk_mb = 100});
    EXPECT_EQ(first(), (Sizes{2000, 250, 250, 0}));
    category_.set_mode(AllocationMode::fixed);
    EXPECT_EQ(first(), (Sizes{.memory_mb = 1500})) << "fixed guesses nothing";
}

// "The automatic resource computation will never go below the values specified."
TEST_F(CategoryTest, NothingComputedIsBelowTheMinimum) {
    category_.set_min({.memory_mb = 512});
    EXPECT_EQ(category_.first_try({}, largest_worker_).at_least, (Sizes{.memory_mb = 512}))
        << "no worker with less will do as a whole";
    complete(26, {.cores = 1000, .memory_mb = 100, .disk_mb = 100});
    const CategoryRequest request = category_.first_try({}, largest_worker_);
    EXPECT_EQ(request, (CategoryRequest{{1000, 512, 250, 0}, {}}));
    category_.set_min({.gpus = 1000});
    EXPECT_EQ(first(), (Sizes{1000, 250, 250, 1000})) << "it replaces all that was said";
    category_.set_mode(AllocationMode::fixed);
    EXPECT_EQ(category_.first_try({}, largest_worker_), (CategoryRequest{{}, {.gpus = 1000}}));
}

TEST_F(CategoryTest, GpusAreSizedOnlyWhereAskedFor) {
    const Sizes peaks{.cores = 1000, .memory_mb = 100, .disk_mb = 100, .gpus = 2000};
    complete(26, peaks);
    EXPECT_EQ(first().gpus, 0);
    EXPECT_EQ(at_maximum().gpus, 0);
    category_.set_automatic(ResourceKind::gpus, true);
    EXPECT_EQ(first().gpus, 2000);
    EXPECT_EQ(at_maximum().gpus, whole);
    category_.set_automatic(ResourceKind::memory, false);
    EXPECT_EQ(first(), (Sizes{1000, unsaid, 250, 2000}));
    category_.set_max({.memory_mb = 4000});
    EXPECT_EQ(first(), (Sizes{1000, 4000, 250, 2000}));
    category_.set_max({.gpus = 1000});
    EXPECT_EQ(first().gpus, 1000);
}

// Unmeasured resources are not reduced.
TEST_F(CategoryTest, WhatIsNotMeasuredIsNotComputed) {
    complete(100, {.memory_mb = 100});
    EXPECT_EQ(first(), (Sizes{whole, 250, whole, 0}));
}

TEST_F(CategoryTest, IsSteadyAfterSoManyWithoutANewMaximum) {
    const Sizes peaks{.cores = 1000, .memory_mb = 300, .disk_mb = 100};
    EXPECT_FALSE(category_.steady());
    complete(25, peaks);
    EXPECT_FALSE(category_.steady()) << "the first was a new maximum";
    complete(1, peaks);
    EXPECT_TRUE(category_.steady());
    complete(1, {.cores = 1000, .memory_mb = 500, .disk_mb = 250});
    EXPECT_TRUE(category_.steady()) << "not beyond the buckets of the largest";
    complete(1, {.cores = 1000, .memory_mb = 501, .disk_mb = 250});
    EXPECT_FALSE(category_.steady());
    EXPECT_EQ(category_.since_new_largest(), 0u);
    EXPECT_EQ(first(), (Sizes{whole, whole, whole, 0})) << "the collection begins anew";
    complete(25, peaks);
    EXPECT_TRUE(category_.steady());
    complete(1, {.cores = 1000, .memory_mb = 300, .disk_mb = 100, .gpus = 8000});
    EXPECT_TRUE(category_.steady()) << "GPUs are not sized";
}

TEST_F(CategoryTest, TheNumberIsAParameter) {
    category_.set_steady_tasks(3);
    const Sizes peaks{.cores = 1000, .memory_mb = 300, .disk_mb = 100};
    complete(3, peaks);
    EXPECT_FALSE(category_.steady());
    complete(1, peaks);
    EXPECT_TRUE(category_.steady());
    EXPECT_EQ(first(), (Sizes{1000, 500, 250, 0}));

    Category at_once("x", AllocationMode::max, 0);
    EXPECT_FALSE(at_once.steady()) << "nothing is known yet";
    EXPECT_EQ(at_once.first_try({}, {}).sizes, (Sizes{whole, whole, whole, 0}));
    at_once.completed(peaks, std::chrono::seconds(1));
    EXPECT_EQ(at_once.first_try({}, {}).sizes, (Sizes{1000, 500, 250, 0}));
}

TEST_F(CategoryTest, TheFirstAllocationIsComputedEvery25Completions) {
    category_.set_mode(AllocationMode::max);
    complete(1, {.cores = 1000, .memory_mb = 250, .disk_mb = 100});
    complete(49, {.cores = 1000, .memory_mb = 100, .disk_mb = 100});
    EXPECT_EQ(category_.computed().memory_mb, 500);
    complete(24, {.cores = 1000, .memory_mb = 450, .disk_mb = 100});
    EXPECT_EQ(category_.computed().memory_mb, 500) << "not yet";
    complete(1, {.cores = 1000, .memory_mb = 450, .disk_mb = 100});
    EXPECT_EQ(category_.computed().memory_mb, 750) << "450 and a third of a bucket, rounded up";
}

TEST_F(CategoryTest, TheModeCanBeChangedAtAnyTime) {
    complete(20, {.cores = 1000, .memory_mb = 200, .disk_mb = 100});
    complete(80, {.cores = 1000, .memory_mb = 1000, .disk_mb = 100});
    category_.set_mode(AllocationMode::max);
    EXPECT_EQ(first().memory_mb, 1250);
    category_.set_mode(AllocationMode::min_waste);
    EXPECT_EQ(first().memory_mb, 1000);
    category_.set_mode(AllocationMode::fixed);
    EXPECT_EQ(first().memory_mb, unsaid);
    category_.set_mode(AllocationMode::max_throughput);
    EXPECT_EQ(first().memory_mb, 1000);
}

TEST_F(CategoryTest, NothingComputedIsAboveTheLargestWorker) {
    complete(26, {.cores = 15'500, .memory_mb = 7800, .disk_mb = 100});
    largest_worker_ = {.cores = 15'800, .memory_mb = 7900, .disk_mb = 10'000, .gpus = 0};
    EXPECT_EQ(first(), (Sizes{15'800, 7900, 250, 0})) << "rounded up it would wait for ever";
    largest_worker_ = {};
    EXPECT_EQ(first(), (Sizes{16'000, 8000, 250, 0})) << "there is no worker yet";
}

TEST_F(CategoryTest, CountsOfCoresAreMeasuredWithNoise) {
    complete(26, {.cores = 1099, .memory_mb = 1, .disk_mb = 0});
    EXPECT_EQ(first(), (Sizes{1000, 250, 250, 0}));
    EXPECT_EQ(without_noise({.cores = 2100}).cores, 2000);
    EXPECT_EQ(without_noise({.cores = 2101}).cores, 2101);
    EXPECT_EQ(without_noise({.cores = 90}).cores, 0);
    EXPECT_EQ(without_noise({.cores = 3000}).cores, 3000);
    EXPECT_EQ(without_noise({.cores = -7, .memory_mb = -7}), nothing);
}

TEST_F(CategoryTest, SoManyRunAtOnceAndNotOneMore) {
    EXPECT_TRUE(category_.has_room(1'000'000));
    category_.set_max_concurrent(3);
    EXPECT_TRUE(category_.has_room(2));
    EXPECT_FALSE(category_.has_room(3));
    category_.set_max_concurrent(0);
    EXPECT_FALSE(category_.has_room(0));
    category_.set_max_concurrent(-5);
    EXPECT_TRUE(category_.has_room(1'000'000));
}

}  // namespace
}  // namespace wq::engine::model
