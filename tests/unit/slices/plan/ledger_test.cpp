#include "slices/plan/pass_ledger.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace wq::slices::plan {
namespace {

using Node = PassLedger::Node;

IntervalSet set(std::initializer_list<Interval> ranges) {
    IntervalSet all;
    for (const Interval& range : ranges) all.insert(range);
    return all;
}

TEST(PassLedger, GivesEachPositionOnceUntilAllAreCommitted) {
    PassLedger ledger(10, Delivery::exactly_once);
    EXPECT_EQ(ledger.draw(1, 6), Drawn(Grant{{0, 6}}));
    EXPECT_EQ(ledger.draw(2, 6), Drawn(Grant{{6, 10}}));
    EXPECT_EQ(ledger.draw(1, 6), Drawn(Wait{}));
    EXPECT_EQ(ledger.commit(1, set({{0, 6}})), set({{0, 6}}));
    EXPECT_EQ(ledger.draw(1, 6), Drawn(Wait{}));
    EXPECT_EQ(ledger.commit(2, set({{6, 10}})), set({{6, 10}}));
    EXPECT_EQ(ledger.draw(1, 6), Drawn(PassEnd{}));
}

TEST(PassLedger, WhatALostRankHadIsGivenAgainFirst) {
    PassLedger ledger(100, Delivery::exactly_once);
    ledger.draw(1, 10);
    ledger.commit(1, set({{0, 2}}));
    // The node's other ranks have 3, 5 and what is not claimed.
    EXPECT_EQ(ledger.recount(1, set({{3, 4}, {5, 6}, {8, 10}})), 4U);
    EXPECT_EQ(ledger.draw(2, 10), Drawn(Grant{{2, 3}}));
    EXPECT_EQ(ledger.commit(1, set({{2, 3}})), IntervalSet{}) << "a late commit of the lost rank";
    EXPECT_EQ(ledger.lose(1), 4U);
    EXPECT_EQ(ledger.draw(2, 10), Drawn(Grant{{3, 13}})) << "with new ones behind them";
}

TEST(PassLedger, OnlyWhoHasAPositionCommitsIt) {
    PassLedger ledger(10, Delivery::exactly_once);
    ledger.draw(1, 4);
    EXPECT_EQ(ledger.commit(2, set({{0, 4}})), IntervalSet{});
    EXPECT_EQ(ledger.commit(1, set({{2, 9}})), set({{2, 4}}));
    EXPECT_EQ(ledger.commit(1, set({{2, 4}})), IntervalSet{}) << "twice";
}

TEST(PassLedger, AtMostOnceNobodyWaits) {
    PassLedger ledger(10, Delivery::at_most_once);
    EXPECT_EQ(ledger.draw(1, 10), Drawn(Grant{{0, 10}}));
    EXPECT_EQ(ledger.lose(1), 0U);
    EXPECT_EQ(ledger.draw(2, 1), Drawn(PassEnd{}));
}

TEST(PassLedger, AtLeastOnceWhoWouldWaitGetsTheLastOfAStraggler) {
    PassLedger ledger(10, Delivery::at_least_once);
    ledger.draw(1, 10);
    EXPECT_EQ(ledger.draw(2, 3), Drawn(Grant{{7, 10}}));
    EXPECT_EQ(ledger.draw(2, 3), Drawn(Grant{{4, 7}})) << "each once";
    EXPECT_EQ(ledger.draw(3, 99), Drawn(Grant{{0, 4}}));
    EXPECT_EQ(ledger.draw(3, 99), Drawn(Wait{}));
    EXPECT_EQ(ledger.commit(2, set({{4, 10}})), set({{4, 10}}));
    EXPECT_EQ(ledger.commit(1, set({{0, 10}})), set({{0, 4}}));
    EXPECT_EQ(ledger.draw(3, 1), Drawn(PassEnd{}));
    EXPECT_EQ(ledger.audit(), "");
}

TEST(PassLedger, WhatIsSealedGoesToWhoDrewIt) {
    PassLedger ledger(100, Delivery::exactly_once);
    ledger.draw(1, 10);
    EXPECT_EQ(ledger.seal(50), (Interval{10, 60}));
    EXPECT_EQ(ledger.to_give(), 90U);
    ledger.drawn(2, set({{0, 20}, {90, 95}}));
    EXPECT_EQ(ledger.outstanding_of(2), set({{10, 20}})) << "no more than was sealed";
    EXPECT_EQ(ledger.commit(1, set({{20, 30}})), IntervalSet{});
    ledger.unseal({40, 100});
    EXPECT_EQ(ledger.sealed(), set({{20, 40}}));
    EXPECT_EQ(ledger.draw(3, 100), Drawn(Grant{{40, 100}}));
    EXPECT_EQ(ledger.draw(3, 100), Drawn(Wait{}));
    EXPECT_EQ(ledger.lose_sealed(), 20U);
    EXPECT_EQ(ledger.draw(3, 100), Drawn(Grant{{20, 40}}));
    EXPECT_EQ(ledger.audit(), "");
}

TEST(PassLedger, AtMostOnceWhatMayHaveBeenDrawnIsNotGivenAgain) {
    PassLedger ledger(100, Delivery::at_most_once);
    ledger.seal(50);
    ledger.drawn(1, set({{0, 10}}));
    EXPECT_EQ(ledger.committed(), set({{0, 10}}));
    EXPECT_EQ(ledger.lose_sealed(), 0U);
    EXPECT_EQ(ledger.committed(), set({{0, 50}}));
    EXPECT_EQ(ledger.audit(), "");
}

TEST(PassLedger, AtLeastOnceWhatWasDrawnIsGivenTwice) {
    PassLedger ledger(10, Delivery::at_least_once);
    ledger.seal(10);
    EXPECT_EQ(ledger.draw(2, 10), Drawn(Wait{})) << "nobody is known to have it";
    ledger.drawn(1, set({{0, 10}}));
    EXPECT_EQ(ledger.draw(2, 3), Drawn(Grant{{7, 10}}));
    EXPECT_EQ(ledger.audit(), "");
}

TEST(PassLedger, WhatIsBeyondItsPositionsWasNotCommitted) {
    PassLedger ledger(10, Delivery::exactly_once, set({{8, 20}}));
    EXPECT_EQ(ledger.draw(1, 10), Drawn(Grant{{0, 8}}));
    ledger.commit(1, set({{0, 8}}));
    EXPECT_EQ(ledger.draw(1, 10), Drawn(PassEnd{}));
    EXPECT_EQ(ledger.audit(), "");
}

TEST(PassLedger, GoesOnFromWhatWasCommitted) {
    PassLedger ledger(10, Delivery::exactly_once, set({{0, 3}, {5, 6}}));
    EXPECT_EQ(ledger.to_give(), 6U);
    EXPECT_EQ(ledger.draw(1, 10), Drawn(Grant{{3, 5}}));
    EXPECT_EQ(ledger.draw(1, 10), Drawn(Grant{{6, 10}}));
}

// Nodes whose ranks claim one by one from what their node drew, and are killed in between. Their commits
// arrive late, or never; whoever is left tells what it has.
class Histories {
  public:
    Histories(unsigned seed, Delivery delivery)
        : random_(seed),
          delivery_(delivery),
          positions_(1 + random_() % 400),
          ledger_(positions_, delivery) {}

    void run() {
        for (int n = 0; n < 3; ++n) join();
        while (!ended_) {
            if (lives() == 0) join();
            step();
            if (steps_ % 8 == 0) {
                ASSERT_EQ(ledger_.audit(), "");
            }
            ASSERT_LT(++steps_, 200'000U) << "it does not end";
        }
        check();
    }

  private:
    struct Rank {
        IntervalSet has;   // claimed, not done
        IntervalSet done;  // not told yet
    };
    struct Group {
        IntervalSet word;  // drawn, not claimed
        std::map<int, Rank> ranks;
    };

    std::size_t lives() const {
        std::size_t count = 0;
        for (const auto& [node, group] : groups_) count += group.ranks.size();
        return count;
    }
    void join() {
        Group& group = groups_[next_node_++];
        for (std::uint64_t n = 1 + random_() % 3; n > 0; --n) group.ranks[next_rank_++];
    }

    void step() {
        auto node = groups_.begin();
        std::advance(node, static_cast<std::ptrdiff_t>(random_() % groups_.size()));
        auto rank = node->second.ranks.begin();
        std::advance(rank, static_cast<std::ptrdiff_t>(random_() % node->second.ranks.size()));
        switch (random_() % 12) {
            case 0:
                return tell(node->first, rank->second);
            case 1:
                return random_() % 6 == 0 ? kill(node, rank) : void();
            case 2:
                return random_() % 20 == 0 ? join() : void();
            case 3:
                return random_() % 2 == 0 ? work(rank->second) : void();
            default:
                return random_() % 2 == 0 ? work(rank->second)
                                          : take(node->first, node->second, rank->second);
        }
    }
    void tell(Node node, Rank& rank) {
        ledger_.commit(node, rank.done).for_each([&](const Interval& range) {
            for (std::uint64_t position = range.first; position < range.end; ++position) ++counted_[position];
        });
        rank.done = {};
    }
    void work(Rank& rank) {
        if (const auto range = rank.has.take_front(1)) rank.done.insert(*range);
    }
    void take(Node node, Group& group, Rank& rank) {
        if (group.word.empty()) {
            const Drawn drawn = ledger_.draw(node, 1 + random_() % 40);
            ended_ = std::holds_alternative<PassEnd>(drawn);
            if (const auto* grant = std::get_if<Grant>(&drawn)) group.word.insert(grant->positions);
            // Who waits tells what it has done.
            if (std::holds_alternative<Wait>(drawn)) tell(node, rank);
            return;
        }
        const auto claim = group.word.take_front(1 + random_() % 3);
        rank.has.insert(*claim);
        for (std::uint64_t position = claim->first; position < claim->end; ++position) ++taken_[position];
    }
    void kill(std::map<Node, Group>::iterator node, std::map<int, Rank>::iterator rank) {
        Group& group = node->second;
        ++killed_;
        group.ranks.erase(rank);
        if (group.ranks.empty()) {
            ledger_.lose(node->first);
            groups_.erase(node);
            return;
        }
        IntervalSet present = group.word;
        for (const auto& [id, other] : group.ranks)
            for (const IntervalSet* own : {&other.has, &other.done})
                own->for_each([&](const Interval& range) { present.insert(range); });
        ledger_.recount(node->first, present);
    }

    void check() {
        const bool commits = delivery_ != Delivery::at_most_once;
        const bool once = !commits || (killed_ == 0 && delivery_ == Delivery::exactly_once);
        for (std::uint64_t position = 0; position < positions_; ++position) {
            EXPECT_EQ(counted_[position], commits ? 1 : 0) << position;
            EXPECT_TRUE(!once || taken_[position] <= 1) << position;
        }
    }

    std::mt19937_64 random_;
    Delivery delivery_;
    std::uint64_t positions_;
    PassLedger ledger_;
    std::map<Node, Group> groups_;
    std::map<std::uint64_t, int> counted_;  // commits
    std::map<std::uint64_t, int> taken_;
    Node next_node_ = 0;
    int next_rank_ = 0;
    std::uint64_t killed_ = 0;
    std::uint64_t steps_ = 0;
    bool ended_ = false;
};

TEST(PassLedger, CountsEachPositionOnceWhoeverIsKilled) {
    for (const Delivery delivery : {Delivery::exactly_once, Delivery::at_most_once, Delivery::at_least_once})
        for (unsigned seed = 0; seed < 40; ++seed) {
            Histories(seed, delivery).run();
            ASSERT_FALSE(testing::Test::HasFailure())
                << "seed " << seed << ", delivery " << static_cast<int>(delivery);
        }
}

}  // namespace
}  // namespace wq::slices::plan
