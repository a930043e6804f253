#include "engine/model/groups.h"

#include <gmock/gmock.h>

#include <random>
#include <string>

namespace wq::engine::model {
namespace {

// ---- the manual's drawings
// ----------------------------------------------------------------------------------------

IntervalSet set(std::initializer_list<std::uint64_t> ids) {
    IntervalSet all;
    for (const std::uint64_t id : ids) all.insert(id);
    return all;
}
constexpr GroupTag seq(std::uint32_t group) {
    return {group, true};
}
constexpr GroupTag par(std::uint32_t group) {
    return {group, false};
}

TEST(Groups, TrainDeployTestReport) {
    Groups groups;
    EXPECT_EQ(groups.add(TaskId(0), 1, {seq(1)}).unblocked, set({0}));  // train
    EXPECT_EQ(groups.add(TaskId(1), 5, {}).unblocked.count(), 5u);      // lines without a group
    EXPECT_TRUE(groups.add(TaskId(6), 1, {seq(1)}).unblocked.empty());  // deploy
    for (std::uint64_t id : {7u, 8u, 9u}) EXPECT_TRUE(groups.add(TaskId(id), 1, {par(1)}).unblocked.empty());
    EXPECT_TRUE(groups.add(TaskId(10), 1, {seq(1)}).unblocked.empty());  // report

    EXPECT_EQ(groups.succeeded({0, 1}).unblocked, set({6}));
    EXPECT_EQ(groups.succeeded({6, 7}).unblocked, set({7, 8, 9}));
    EXPECT_TRUE(groups.succeeded({8, 9}).unblocked.empty());
    EXPECT_TRUE(groups.succeeded({7, 8}).unblocked.empty());
    EXPECT_EQ(groups.succeeded({9, 10}).unblocked, set({10}));
}

TEST(Groups, AFailedTestLetsNoReportRun) {
    Groups groups;
    groups.add(TaskId(0), 1, {par(1)});
    groups.add(TaskId(1), 1, {par(1)});
    groups.add(TaskId(2), 1, {seq(1)});
    groups.add(TaskId(3), 1, {seq(2)});
    groups.add(TaskId(4), 1, {par(1), seq(2)});
    groups.add(TaskId(5), 1, {seq(2)});
    const GroupChange change = groups.failed({1, 2});
    EXPECT_EQ(change.dead, set({2, 4, 5}));  // 5 because of 4
    EXPECT_EQ(change.because, TaskId(1));
}

TEST(Groups, ABareColonIsABarrierForAllLinesAboveIt) {
    Groups groups;
    groups.add(TaskId(0), 1000, {});
    EXPECT_TRUE(groups.barrier().unblocked.empty());
    EXPECT_TRUE(groups.add(TaskId(1000), 500, {}).unblocked.empty());
    EXPECT_TRUE(groups.blocked(TaskId(1499)));
    EXPECT_TRUE(groups.succeeded({1, 1000}).unblocked.empty());
    EXPECT_EQ(groups.succeeded({0, 1}).unblocked.front(), (Interval{1000, 1500}));
    EXPECT_EQ(groups.add(TaskId(1500), 1, {}).unblocked, set({1500}));
}

TEST(Groups, BothTagsOfOneGroupAreOneMembership) {
    Groups groups;
    groups.add(TaskId(0), 1, {par(1)});
    EXPECT_TRUE(groups.add(TaskId(1), 1, {par(1), seq(1), seq(1), par(0)}).unblocked.empty());
    EXPECT_EQ(groups.succeeded({0, 1}).unblocked, set({1}));
}

TEST(Groups, AChainOfAHundredThousandDiesWithoutRecursion) {
    Groups groups;
    constexpr std::uint64_t length = 100'000;
    for (std::uint64_t id = 0; id < length; ++id)
        groups.add(TaskId(id), 1,
                   {seq(static_cast<std::uint32_t>(id + 1)), seq(static_cast<std::uint32_t>(id + 2))});
    EXPECT_EQ(groups.failed({0, 1}).dead.count(), length - 1);
}

// ---- against the manual's rule
// --------------------------------------------------------------------------------------

enum class Fate { pending, ok, failed };
struct Line {
    std::vector<GroupTag> tags;
    bool barrier = false;
    Fate fate = Fate::pending;
    std::uint64_t task = 0;  // meaningless for a barrier
};

// "Waits for every earlier ...", line by line.
struct Rule {
    std::vector<Line> lines;

    static bool member(const Line& line, std::uint32_t group, bool sequential) {
        if (group == 0 && !sequential && !line.barrier) return true;
        if (group == 0 && sequential && line.barrier) return true;
        for (const GroupTag& tag : line.tags)
            if (tag.group == group && tag.sequential == sequential) return true;
        return false;
    }
    static bool waits_for(const Line& line, const Line& earlier) {
        for (std::uint32_t group = 0; group < 5; ++group) {
            if (member(line, group, true) && (member(earlier, group, true) || member(earlier, group, false)))
                return true;
            if (member(line, group, false) && member(earlier, group, true)) return true;
        }
        return false;
    }
    struct Verdict {
        bool ok = false;
        bool blocked = false;
        bool dead = false;  // it waits for a failed or a dead one
    };
    std::vector<Verdict> verdicts() const {
        std::vector<Verdict> all;
        for (const Line& line : lines) {
            Verdict verdict;
            for (std::size_t j = 0; j < all.size(); ++j) {
                if (!waits_for(line, lines[j]) || all[j].ok) continue;
                verdict.blocked = true;
                if (line.fate == Fate::pending && (lines[j].fate == Fate::failed || all[j].dead))
                    verdict.dead = true;
            }
            verdict.ok = line.barrier ? !verdict.blocked : line.fate == Fate::ok;
            all.push_back(verdict);
        }
        return all;
    }
};

enum class Seen { blocked, ready, ended, dead };

class AgainstTheRule : public ::testing::TestWithParam<bool> {
  protected:
    void take(const GroupChange& change) {
        change.dead.for_each([&](Interval part) {
            for (std::uint64_t id = part.first; id < part.end; ++id)
                if (seen_[id] != Seen::ended) {
                    EXPECT_NE(seen_[id], Seen::ready) << "task " << id << " could run and died";
                    seen_[id] = Seen::dead;
                }
        });
        change.unblocked.for_each([&](Interval part) {
            for (std::uint64_t id = part.first; id < part.end; ++id)
                if (seen_[id] == Seen::blocked) seen_[id] = Seen::ready;
        });
    }

    void compare(std::uint64_t seed) {
        const auto verdicts = rule_.verdicts();
        for (std::size_t i = 0; i < rule_.lines.size(); ++i) {
            const Line& line = rule_.lines[i];
            if (line.barrier || line.fate != Fate::pending) continue;
            const Seen expected = verdicts[i].dead      ? Seen::dead
                                  : verdicts[i].blocked ? Seen::blocked
                                                        : Seen::ready;
            ASSERT_EQ(static_cast<int>(seen_[line.task]), static_cast<int>(expected))
                << "seed " << seed << ", task " << line.task;
            if (expected == Seen::dead) continue;
            ASSERT_EQ(groups_.blocked(TaskId(line.task)), expected == Seen::blocked) << "seed " << seed;
        }
    }

    void add_something(std::mt19937_64& random, bool resume) {
        if (random() % 8 == 0) {
            rule_.lines.push_back({{}, true, Fate::pending, 0});
            return take(groups_.barrier());
        }
        std::vector<GroupTag> tags;
        for (auto left = random() % 4; left > 0; --left)
            tags.push_back(
                {static_cast<std::uint32_t>(random() % 4 + (random() % 10 == 0 ? 0 : 1)), random() % 3 == 0});
        const std::uint64_t count = tags.empty() ? 1 + random() % 4 : 1;
        const std::uint64_t first = seen_.size();
        IntervalSet done;
        IntervalSet failed;
        for (std::uint64_t id = first; id < first + count; ++id) {
            Line line{tags, false, Fate::pending, id};
            if (resume && random() % 3 == 0) line.fate = random() % 5 == 0 ? Fate::failed : Fate::ok;
            if (line.fate == Fate::ok) done.insert(id);
            if (line.fate == Fate::failed) failed.insert(id);
            seen_.push_back(line.fate == Fate::pending ? Seen::blocked : Seen::ended);
            rule_.lines.push_back(line);
        }
        take(groups_.add(TaskId(first), count, tags, done));
        failed.for_each([&](Interval part) { take(groups_.failed(part)); });
    }

    bool end_something(std::mt19937_64& random, unsigned failures) {
        std::vector<std::size_t> candidates;
        for (std::size_t i = 0; i < rule_.lines.size(); ++i)
            if (!rule_.lines[i].barrier && seen_[rule_.lines[i].task] == Seen::ready) candidates.push_back(i);
        if (candidates.empty()) return false;
        Line& line = rule_.lines[candidates[random() % candidates.size()]];
        line.fate = random() % 100 < failures ? Fate::failed : Fate::ok;
        seen_[line.task] = Seen::ended;
        const Interval one{line.task, line.task + 1};
        take(line.fate == Fate::ok ? groups_.succeeded(one) : groups_.failed(one));
        return true;
    }

    Rule rule_;
    Groups groups_;
    std::vector<Seen> seen_;
};

TEST_P(AgainstTheRule, RandomListsWithRandomEnds) {
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        std::mt19937_64 random(seed);
        rule_ = {};
        groups_ = {};
        seen_.clear();
        const unsigned failures = seed % 3 == 0 ? 0 : 15;
        for (int adds = 1 + static_cast<int>(random() % 10); adds > 0 || end_something(random, failures);) {
            if (adds > 0 && (random() % 2 == 0 || !end_something(random, failures))) {
                add_something(random, GetParam());
                --adds;
            }
            compare(seed);
            if (HasFatalFailure()) return;
        }
        for (const Seen seen : seen_)
            ASSERT_TRUE(seen == Seen::ended || seen == Seen::dead) << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(, AgainstTheRule, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Resumed" : "Fresh"; });

}  // namespace
}  // namespace wq::engine::model
