// Changes to tasks while they are sealed.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

class SealedTest : public RunFixture {
  protected:
    // Ranks 1 and 2 with one core each, and a batch of 40 tasks.
    void SetUp() override {
        options({.expected_workers = 2, .seal_batches = true});
        join(1, 1, true);
        join(2, 1, true);
        add(40);
        expect({"seal batch 1: 0-39"});
    }
    void say(CategorySet what) {
        event(what);
        take([&](const std::string& line) {
            if (!line.starts_with("category ")) said_.push_back(line);
        });
    }
    void monitor(Monitoring how) {
        Tuned tuned;
        tuned.monitoring = how;
        event(tuned);
    }
    void both_dry() {
        dry(1, 1);
        dry(2, 1);
    }

    std::vector<std::string> said_;  // except that it changed
};

TEST_F(SealedTest, WhatACategoryGivesFromNowOnIsForThoseThatNobodyHasClaimed) {
    say({.max = Sizes{.memory_mb = 500}});
    EXPECT_THAT(said_, ::testing::ElementsAre("revoke batch 1"));
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
    EXPECT_EQ(last_ended_.given, (Resources{1, 1000, 0, 0})) << "as it was sealed";
    both_dry();
    expect({"batch 1 over", "seal batch 2: 1-39"});
    ok(1, 1);
    expect({"1.1 ended for good: exit 0"});
    EXPECT_EQ(last_ended_.given, (Resources{1, 500, 0, 0}));
}

TEST_F(SealedTest, ManyThatEndAtOnceWereGivenWhatTheyWereSealedWithToo) {
    say({.max = Sizes{.memory_mb = 500}});
    range_done(1, 1, ids(0, 10));
    expect({"ended 0-9 on 1"});
    EXPECT_EQ(last_range_.given, (Resources{1, 1000, 0, 0}));
    dry(1, 1, ids(10, 12));
    dry(2, 1);
    range_done(1, 1, ids(10, 12));
    EXPECT_EQ(last_range_.tasks, ids(10, 12)) << "leases by now";
    EXPECT_EQ(last_range_.given, (Resources{1, 1000, 0, 0}));
    take([](const std::string&) {});
}

TEST_F(SealedTest, WhatChangesNothingForThemLeavesThemSealed) {
    say({.category = CategoryId(1), .max = Sizes{.memory_mb = 500}, .max_concurrent = 1});
    say({.first = Sizes{.memory_mb = 500}, .max_concurrent = -1, .steady_tasks = 3});
    EXPECT_THAT(said_, ::testing::IsEmpty());
    monitor({});
    expect({});
}

TEST_F(SealedTest, WhoeverIsToBeMeasuredFromNowOnIsSealedAnew) {
    EXPECT_FALSE(last_watch_.measures);
    monitor({.measures = true});
    expect({"revoke batch 1"});
    both_dry();
    expect({"batch 1 over", "seal batch 2: 0-39"});
    EXPECT_TRUE(last_watch_.measures);
}

TEST_F(SealedTest, WhoeverIsToBeHeldToWhatItIsGivenIsLeased) {
    monitor({.measures = true, .enforces = true});
    expect({"revoke batch 1"});
    both_dry();
    expect({"batch 1 over", "lease 0.1 to 1", "lease 1.1 to 2"});
    EXPECT_EQ(last_watch_, (Watch{true, {.cores = 1000, .memory_mb = 1000}}));
}

// Ranks that claim while there are tickets and they have a core, and the messages to them.
class LimitedWhileSealed : public RunFixture {
  protected:
    struct Run {
        std::uint32_t worker = 0;
        Attempt attempt = 0;
    };

    std::uint64_t draw(std::uint64_t end) { return random_() % end; }

    void begin() {
        ranks_ = static_cast<std::uint32_t>(1 + draw(4));
        cores_ = 1 + draw(3);
        runs_.clear(), next_ = 0, revoked_ = false;
        options({.expected_workers = ranks_, .seal_batches = true});
        claiming_.clear();
        for (std::uint32_t rank = 1; rank <= ranks_; ++rank) {
            join(rank, static_cast<std::int64_t>(cores_), true);
            claiming_.insert(rank);
        }
        tasks_ = 16 * ranks_ * cores_ + draw(20);
        add(tasks_);
        end_input();
        obey();
    }
    void obey() {
        take([&](const std::string& line) {
            std::uint64_t task = 0;
            Run run;
            if (line.starts_with("revoke")) revoked_ = true;
            if (line.starts_with("seal")) sealed_again_ = true;
            if (std::sscanf(line.c_str(), "lease %lu.%u to %u", &task, &run.attempt, &run.worker) == 3)
                runs_[task] = run;
        });
    }
    std::uint64_t done() const { return reactor_.ledger().count(TaskState::done); }
    std::uint64_t at_rank(std::uint32_t rank) const {
        return static_cast<std::uint64_t>(std::count_if(
            runs_.begin(), runs_.end(), [&](const auto& run) { return run.second.worker == rank; }));
    }
    void claim() {
        for (const std::uint32_t rank : claiming_)
            for (; at_rank(rank) < cores_ && next_ < tasks_; ++next_) runs_[next_] = {rank, 1};
    }
    void hear_of_revocation(std::uint32_t rank) {
        IntervalSet held;
        for (const auto& [task, run] : runs_)
            if (run.worker == rank) held.insert(task);
        claiming_.erase(rank);
        dry(rank, 1, held);
        obey();
    }
    void end_one() {
        const auto ends = std::next(runs_.begin(), static_cast<std::ptrdiff_t>(draw(runs_.size())));
        const auto [task, run] = *ends;
        runs_.erase(ends);
        ok(run.worker, task, run.attempt);
        obey();
    }
    void allow(std::int64_t most) {
        event(CategorySet{.max_concurrent = most});
        obey();
    }

    std::mt19937_64 random_{1};
    std::uint32_t ranks_ = 0;
    std::uint64_t cores_ = 0, tasks_ = 0, next_ = 0;
    std::map<std::uint64_t, Run> runs_;  // on the ranks
    std::set<std::uint32_t> claiming_;
    bool revoked_ = false, sealed_again_ = false;
};

TEST_F(LimitedWhileSealed, NoMoreBeginThanItsCategoryAllowsOnceItsRanksKnow) {
    for (int round = 0; round < 60; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        begin();
        for (claim(); draw(4) > 0; claim()) end_one();
        sealed_again_ = false;
        const std::uint64_t most = draw(6);
        allow(static_cast<std::int64_t>(most));
        while (revoked_ && !claiming_.empty()) {
            if (draw(2) == 0 && !runs_.empty()) end_one();
            claim();
            hear_of_revocation(*std::next(claiming_.begin(), static_cast<long>(draw(claiming_.size()))));
        }
        while (!runs_.empty()) {
            const std::uint64_t before = runs_.size();
            end_one();
            claim();
            ASSERT_LE(runs_.size(), std::max(most, before - 1));
            ASSERT_TRUE(runs_.size() >= std::min({most, ranks_ * cores_, tasks_ - done()})) << "or fewer";
        }
        EXPECT_FALSE(sealed_again_);
        ASSERT_EQ(done() == tasks_, most > 0);
    }
}

}  // namespace
}  // namespace wq::engine::policies
