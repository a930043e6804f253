// Invariants of a category under random events.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "category_fixture.h"
#include "engine/model/task_category.h"

namespace wq::engine::model {
namespace {

using namespace testing;
using Random = std::mt19937_64;

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

std::int64_t maybe(Random& random, std::int64_t value) {
    return between(random, 0, 2) == 0 ? unsaid : value;
}

// As a task, a user or a peer may specify it: sometimes far off.
std::int64_t amount(Random& random) {
    switch (between(random, 0, 9)) {
        case 0:
            return static_cast<std::int64_t>(random());
        case 1:
            return 0;
        default:
            return between(random, 1, 20'000);
    }
}

Sizes some_sizes(Random& random) {
    Sizes sizes;
    for (const ResourceKind kind : resource_kinds) sizes.at(kind) = maybe(random, amount(random));
    return sizes;
}

PerResource<bool> some_limits(Random& random) {
    PerResource<bool> limits;
    for (const ResourceKind kind : resource_kinds) limits.at(kind) = between(random, 0, 1) == 0;
    return limits;
}

AllocationMode some_mode(Random& random) {
    return static_cast<AllocationMode>(between(random, 0, static_cast<int>(last_mode)));
}

void do_something(Random& random, Category& category) {
    switch (between(random, 0, 19)) {
        case 0:
            return category.set_max(some_sizes(random));
        case 1:
            return category.set_min(some_sizes(random));
        case 2:
            return category.set_first(some_sizes(random));
        case 3:
            return category.set_mode(some_mode(random));
        case 4:
            return category.set_automatic(resource_kinds[random() % 4], between(random, 0, 2) != 0);
        case 5:
            return category.exhausted(some_sizes(random), some_limits(random));
        case 6:
            return category.submitted(some_sizes(random));
        default:
            return category.completed(some_sizes(random), Duration(amount(random)));
    }
}

// A task that specifies `said` asks for `request`.
void check_request(const Category& category, const Sizes& said, const CategoryRequest& request) {
    for (const ResourceKind kind : resource_kinds) {
        const std::int64_t size = request.sizes.at(kind);
        const std::int64_t least = request.at_least.at(kind);
        if (said.at(kind) >= 0) {
            ASSERT_EQ(size, said.at(kind)) << "what it says is never changed";
            ASSERT_EQ(least, unsaid);
            continue;
        }
        const std::int64_t min = category.min().at(kind);
        const std::int64_t max = category.max().at(kind);
        ASSERT_GE(size, whole_worker);
        if (max >= 0) {
            ASSERT_GE(size, 0) << "where there is a maximum, nobody gets a whole worker";
            ASSERT_LE(size, max);
        }
        if (size >= 0) {
            ASSERT_GE(size, max >= 0 ? std::min(min, max) : min);
            ASSERT_EQ(least, unsaid);
        } else {
            ASSERT_GE(least, min);
        }
        if (category.mode() == AllocationMode::fixed) {
            ASSERT_EQ(size, max);
        }
    }
}

TEST(CategoryProperties, HoldWhateverHappens) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(seed);
        Category category("wild", some_mode(random), static_cast<std::uint32_t>(between(random, 0, 30)));
        for (int step = 0; step < 300; ++step) {
            do_something(random, category);
            const Sizes said = some_sizes(random);
            const Sizes measured = some_sizes(random);
            check_request(category, said, category.first_try(said, some_sizes(random)));
            check_request(category, said, category.at_maximum(said, measured));
            if (is_bucketing(category.mode()))
                check_request(category, said, category.next_bucket(said, measured, some_sizes(random)));
            if (HasFatalFailure()) return;
            const auto after =
                category.after_exhaustion(said, measured, some_limits(random), Try::at_maximum);
            if (!is_bucketing(category.mode())) {
                ASSERT_NE(after, AfterExhaustion::at_maximum) << "once at maximum, and not again";
            }
            for (const ResourceKind kind : resource_kinds)
                ASSERT_FALSE(describe(category.largest(kind), kind).empty());
        }
    }
}

// Without data: whole workers, or the user's amounts; no worker needs to exist.
TEST(CategoryProperties, WithoutTasksItGivesWholeWorkersOrWhatIsSaid) {
    Random random(1);
    for (int round = 0; round < 1000; ++round) {
        Category category("empty", automatic_modes[random() % automatic_modes.size()]);
        category.set_max(some_sizes(random));
        const Sizes asked = category.first_try({}, some_sizes(random)).sizes;
        for (const ResourceKind kind : resource_kinds) {
            const std::int64_t max = category.max().at(kind);
            const std::int64_t otherwise = kind == ResourceKind::gpus ? 0 : whole_worker;
            ASSERT_EQ(asked.at(kind), max >= 0 ? max : otherwise);
        }
    }
}

// The largest peak never shrinks, nor its allocation, nor the displayed value.
TEST(CategoryProperties, TheLargestSeenOnlyGrows) {
    Random random(2);
    for (int round = 0; round < 50; ++round) {
        Category category("grows", AllocationMode::max, 10);
        Sizes computed;
        Sizes shown;
        for (int task = 0; task < 200; ++task) {
            category.completed(some_sizes(random), Duration(amount(random)));
            if (between(random, 0, 3) == 0) category.exhausted(some_sizes(random), some_limits(random));
            for (const ResourceKind kind : resource_kinds) {
                ASSERT_GE(category.computed().at(kind), computed.at(kind));
                ASSERT_GE(category.largest(kind).size, shown.at(kind));
                computed.at(kind) = category.computed().at(kind);
                shown.at(kind) = category.largest(kind).size;
            }
        }
    }
}

// Computed amounts are within the rounded peaks of the first tasks: no mode invents a size.
TEST(CategoryProperties, WhatIsComputedIsWithinWhatWasSeen) {
    Random random(3);
    for (int round = 0; round < 300; ++round) {
        Category category("within", automatic_modes[random() % automatic_modes.size()]);
        std::int64_t least = 100'000;
        std::int64_t most = 0;
        for (int task = 0; task < 50; ++task) {
            const std::int64_t peak = between(random, 1, 100'000);
            least = std::min(least, peak);
            most = std::max(most, peak);
            category.completed({.memory_mb = peak}, std::chrono::seconds(between(random, 1, 100)));
        }
        ASSERT_GE(category.computed().memory_mb, least);
        ASSERT_LE(category.computed().memory_mb, most + 83 + 250);
        ASSERT_EQ(category.computed().memory_mb % 250, 0);
        ASSERT_EQ(category.computed().cores, unsaid);
    }
}

// Between two computations the order of completions is random and must not matter.
TEST(CategoryProperties, TheOrderBetweenTwoComputationsIsNothing) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Random random(seed);
        const AllocationMode mode = automatic_modes[seed % automatic_modes.size()];
        Category one("order", mode);
        Category other("order", mode);
        for (int round = 0; round < 8; ++round) {
            std::vector<std::pair<Sizes, Duration>> tasks(Category::default_steady_tasks);
            for (auto& [peaks, wall] : tasks) peaks = some_sizes(random), wall = Duration(amount(random));
            for (const auto& [peaks, wall] : tasks) one.completed(peaks, wall);
            std::ranges::shuffle(tasks, random);
            for (const auto& [peaks, wall] : tasks) other.completed(peaks, wall);
            ASSERT_EQ(one.computed(), other.computed()) << "seed " << seed;
            for (const ResourceKind kind : resource_kinds) {
                ASSERT_EQ(one.peaks(kind), other.peaks(kind));
                ASSERT_EQ(one.largest(kind), other.largest(kind));
            }
        }
    }
}

TEST(CategoryProperties, StaysSmallOverAMillionWildTasks) {
    Random random(5);
    Category category("million", AllocationMode::max_throughput, 10'000);
    for (int task = 0; task < 1'000'000; ++task) {
        const auto wild = static_cast<std::int64_t>(random() >> (random() % 64));
        category.completed({wild, wild / 3, wild / 7, wild % 9000}, Duration(wild));
    }
    for (const ResourceKind kind : resource_kinds)
        EXPECT_LE(category.peaks(kind).buckets().size(), PeakHistogram::most_buckets);
    EXPECT_EQ(category.completions(), 1'000'000u);
}

}  // namespace
}  // namespace wq::engine::model
