// Tasks that exhaust their resources, and what is displayed.
#include <gtest/gtest.h>

#include <limits>

#include "category_fixture.h"
#include "engine/model/task_category.h"

namespace wq::engine::model {
namespace {

using namespace testing;

class CategoryExhaustionTest : public CategoryTest {};

TEST_F(CategoryExhaustionTest, FixedTasksFail) {
    category_.set_mode(AllocationMode::fixed);
    EXPECT_EQ(after(100), AfterExhaustion::fail);
    category_.set_max({.memory_mb = 1000});
    EXPECT_EQ(after(100), AfterExhaustion::fail);
}

// "If this value is larger than the one specified with specify_category_max_resources, then tasks that
// exhaust resources are not retried."
TEST_F(CategoryExhaustionTest, AboveAMaximumTheyFail) {
    for (const AllocationMode mode : automatic_modes) {
        category_.set_mode(mode);
        category_.set_max({.memory_mb = 1000});
        EXPECT_EQ(after(1000), AfterExhaustion::at_maximum);
        EXPECT_EQ(after(1001), AfterExhaustion::fail);
        EXPECT_EQ(after(1000, {}, Try::at_maximum), AfterExhaustion::fail) << "once";
        EXPECT_EQ(after(1500, {.memory_mb = 2000}), AfterExhaustion::at_maximum)
            << "what the task says is its maximum";
        EXPECT_EQ(after(2001, {.memory_mb = 2000}), AfterExhaustion::fail);
        category_.set_max({.cores = 1000});
        EXPECT_EQ(after(501, {.memory_mb = 500}), AfterExhaustion::fail);
    }
}

// "Otherwise, if a maximum was not set, the tasks will be retried in larger workers as workers become
// available."
TEST_F(CategoryExhaustionTest, WithoutAMaximumTheyAreRunOnceMoreAndThenOnlyOnLargerWorkers) {
    EXPECT_EQ(after(1'000'000), AfterExhaustion::at_maximum);
    EXPECT_EQ(after(1'000'000, {}, Try::at_maximum), AfterExhaustion::larger_worker);
    category_.set_automatic(ResourceKind::memory, false);
    EXPECT_EQ(after(1'000'000, {}, Try::at_maximum), AfterExhaustion::fail) << "it is given no more";
}

TEST_F(CategoryExhaustionTest, OnlyWhatWasExceededIsJudged) {
    category_.set_max({.cores = 1000});
    const Sizes measured{.cores = 3000, .memory_mb = 700};
    EXPECT_EQ(category_.after_exhaustion({}, measured, exceeding(ResourceKind::memory), Try::first),
              AfterExhaustion::at_maximum);
    EXPECT_EQ(category_.after_exhaustion({}, measured, exceeding(ResourceKind::cores), Try::first),
              AfterExhaustion::fail);
    EXPECT_EQ(category_.after_exhaustion({}, measured, {}, Try::first), AfterExhaustion::fail)
        << "nobody says which: any";
    EXPECT_EQ(category_.after_exhaustion({}, {.memory_mb = 700}, {}, Try::first),
              AfterExhaustion::at_maximum);
    EXPECT_EQ(category_.after_exhaustion({}, {.memory_mb = 700}, {}, Try::at_maximum), AfterExhaustion::fail);
    EXPECT_EQ(category_.after_exhaustion({}, {.cores = 1100}, exceeding(ResourceKind::cores), Try::first),
              AfterExhaustion::at_maximum)
        << "a tenth of a core is noise";
}

TEST_F(CategoryExhaustionTest, ItsNextWorkerHasWhatWasMeasured) {
    category_.set_max({.cores = 2000});
    category_.set_min({.memory_mb = 512, .disk_mb = 512});
    EXPECT_EQ(category_.at_maximum({.disk_mb = 50}, {.cores = 9000, .memory_mb = 700, .disk_mb = 60}),
              (CategoryRequest{{2000, whole_worker, 50, 0}, {.memory_mb = 700}}));
    EXPECT_EQ(category_.at_maximum({}, {.memory_mb = 300}).at_least,
              (Sizes{.memory_mb = 512, .disk_mb = 512}));
}

TEST_F(CategoryExhaustionTest, AnExhaustionIsNoSample) {
    complete(26, {.cores = 1000, .memory_mb = 100, .disk_mb = 100});
    const Sizes before = first();
    for (int i = 0; i < 100; ++i)
        category_.exhausted({.memory_mb = 100'000}, exceeding(ResourceKind::memory));
    EXPECT_EQ(first(), before);
    EXPECT_TRUE(category_.steady());
    EXPECT_EQ(category_.exhaustions(), (Sizes{.memory_mb = 100'000}));
}

TEST_F(CategoryExhaustionTest, OnlyWhatWasExceededIsRemembered) {
    category_.exhausted({.cores = 3000, .memory_mb = 700}, exceeding(ResourceKind::memory));
    category_.exhausted({.cores = 9000, .memory_mb = 600}, exceeding(ResourceKind::memory));
    EXPECT_EQ(category_.exhaustions(), (Sizes{.memory_mb = 700}));
    category_.exhausted({.cores = 2050}, {});
    EXPECT_EQ(category_.exhaustions(), (Sizes{.cores = 2000, .memory_mb = 700}));
}

// The table of the manual: "4", "~1011", ">243".
TEST_F(CategoryExhaustionTest, IsShownWithItsMarks) {
    for (const ResourceKind kind : resource_kinds) EXPECT_EQ(shown(kind), "na");
    category_.set_max({.cores = 4000});
    complete(1, {.cores = 9000, .memory_mb = 1011, .disk_mb = 200});
    category_.exhausted({.disk_mb = 243}, exceeding(ResourceKind::disk));
    EXPECT_EQ(shown(ResourceKind::cores), "4") << "a maximum, whatever was seen";
    EXPECT_EQ(shown(ResourceKind::memory), "~1011");
    EXPECT_EQ(shown(ResourceKind::disk), ">243");
    EXPECT_EQ(shown(ResourceKind::gpus), "na");
    complete(1, {.cores = 1000, .memory_mb = 900, .disk_mb = 503});
    EXPECT_EQ(shown(ResourceKind::memory), "~1011");
    EXPECT_EQ(shown(ResourceKind::disk), "~503") << "one that took more completed";
    category_.set_max({.memory_mb = 2000});
    EXPECT_EQ(shown(ResourceKind::cores), "~9");
    EXPECT_EQ(shown(ResourceKind::memory), "2000");
    EXPECT_EQ(category_.largest(ResourceKind::disk), (Largest{Largest::By::peak, 503}));
}

// "... or set for any task in the category via calls such as specify_cores."
TEST_F(CategoryExhaustionTest, WhatTasksSayIsShownAsAMaximum) {
    category_.submitted({.cores = 2000, .gpus = 0});
    category_.submitted({.cores = 1000});
    EXPECT_EQ(shown(ResourceKind::cores), "2");
    EXPECT_EQ(shown(ResourceKind::gpus), "0");
    complete(1, {.cores = 2000});
    EXPECT_EQ(shown(ResourceKind::cores), "2");
    complete(1, {.cores = 2500});
    EXPECT_EQ(shown(ResourceKind::cores), "~2.5") << "others took more";
    category_.set_max({.cores = 1000});
    EXPECT_EQ(shown(ResourceKind::cores), "1");
}

TEST(Largest, IsExactInText) {
    using By = Largest::By;
    EXPECT_EQ(describe({By::user, 500}, ResourceKind::cores), "0.5");
    EXPECT_EQ(describe({By::peak, 1001}, ResourceKind::gpus), "~1.001");
    EXPECT_EQ(describe({By::exhaustion, 10'250}, ResourceKind::cores), ">10.25");
    EXPECT_EQ(describe({By::peak, 1001}, ResourceKind::disk), "~1001");
    EXPECT_EQ(describe({By::peak, std::numeric_limits<std::int64_t>::max()}, ResourceKind::cores),
              "~9223372036854775.807");
}

}  // namespace
}  // namespace wq::engine::model
