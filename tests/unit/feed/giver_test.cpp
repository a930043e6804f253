#include "feed/giver.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "feed/taker.h"
#include "net/loopback.h"
#include "unit/feed/node_tickets.h"

namespace wq::feed {
namespace {

using slices::Delivery;

// A giver and ranks on nodes, by turns in one thread. Ranks take, hold, commit, and are killed or
// paused at any moment.
class Histories {
  public:
    Histories(unsigned seed, Delivery delivery, bool by_hand, unsigned kills)
        : random_(seed),
          delivery_(delivery),
          by_hand_(by_hand),
          kills_(kills),
          positions_(1 + random_() % 300),
          network_(1, seed),
          giver_line_(network_.endpoint(giver_id)),
          giver_(slices::Ledger(positions_, delivery), 1 + positions_ / 2) {
        for (int n = 0; n < 3; ++n) add_node();
    }

    void run() {
        for (std::uint64_t steps = 0; !done(); ++steps) {
            if (ranks_.empty()) add_node();
            step();
            if (steps % 32 == 0) {
                ASSERT_EQ(giver_.ledger().audit(), "");
            }
            ASSERT_LT(steps, 200'000U)
                << "it does not end: " << giver_.ledger().committed().count() << " of " << positions_
                << " are committed, " << giver_.report().waiting << " wait";
        }
        check();
    }

  private:
    static constexpr net::PeerId giver_id{0};
    struct Rank {
        net::PeerId id;
        std::unique_ptr<net::Transport> line;
        std::unique_ptr<tickets::TicketPool> pool;
        std::unique_ptr<Taker> taker;
        std::vector<std::uint64_t> has;
        bool over = false;               // it was told the end, and has taken what it still had
        bool lost = false;               // it was paused, and does not know it yet
        std::deque<net::Arrival> inbox;  // arrived, not looked at
    };

    bool done() const {
        if (!giver_.ended() && delivery_ != Delivery::at_most_once) return false;
        for (const Rank& rank : ranks_)
            if (!rank.over) return false;
        return !ranks_.empty();
    }

    void add_node() {
        const std::uint32_t ranks = 1 + static_cast<std::uint32_t>(random_() % 4);
        nodes_.push_back(std::make_unique<NodeTickets>(ranks));
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            Rank added;
            added.id = network_.add();
            added.line = network_.endpoint(added.id);
            added.pool = nodes_.back()->of(rank);
            TakerOptions options;
            options.node = "node" + std::to_string(nodes_.size());
            options.by_hand = by_hand_;
            options.commits = delivery_ != Delivery::at_most_once;
            options.most_claimed = 5;
            added.taker = std::make_unique<Taker>(*added.pool, options, [] {});
            ranks_.push_back(std::move(added));
            network_.connect(giver_id, ranks_.back().id);
        }
    }

    static void receive(Rank& rank) {
        std::vector<net::Arrival> inbox;
        rank.line->poll(inbox);
        rank.inbox.insert(rank.inbox.end(), inbox.begin(), inbox.end());
    }

    void step() {
        now_ += std::chrono::milliseconds(random_() % 50);
        const std::size_t chosen = random_() % ranks_.size();
        Rank& rank = ranks_[chosen];
        switch (random_() % 8) {
            case 0:
            case 1: {
                std::vector<net::Arrival> inbox;
                giver_line_->poll(inbox);
                for (const net::Arrival& arrival : inbox) giver_.on(*giver_line_, arrival, now_);
                if (const auto due = giver_.wakeup(); due && now_ >= *due) giver_.tick(now_);
                return;
            }
            case 2:
            case 3: {
                receive(rank);
                for (auto left = random_() % 3; left > 0 && !rank.inbox.empty(); --left) {
                    rank.taker->on(*rank.line, rank.inbox.front());
                    rank.inbox.pop_front();
                }
                return;
            }
            case 4:
                return static_cast<void>(rank.taker->flush(*rank.line, random_() % 2 == 0));
            case 5:
                if (random_() % 10 < kills_) random_() % 2 == 0 ? kill(chosen) : pause_until_lost(rank);
                return;
            case 6:
                if (by_hand_ && !rank.has.empty()) {
                    const bool counts = rank.taker->commit(rank.has.back());
                    EXPECT_TRUE(rank.lost || counts == (delivery_ != Delivery::at_most_once));
                    EXPECT_FALSE(rank.taker->commit(rank.has.back()));
                    rank.has.pop_back();
                }
                return;
            default:
                if (by_hand_ && rank.has.size() > 3 && delivery_ != Delivery::at_most_once) return;
                const bool ended = rank.taker->ended() || rank.taker->failure();
                const auto position = rank.taker->try_take();
                rank.over = ended && !position;
                if (position) {
                    ++taken_[*position];
                    if (!rank.lost) taken_by_living_[*position].insert(rank.id);
                    rank.has.push_back(*position);
                }
        }
    }

    // Some of what it sent is lost with it; now and then it has also claimed, or filled, and said nothing.
    void kill(std::size_t chosen) {
        Rank& rank = ranks_[chosen];
        if (random_() % 3 == 0) rank.pool->take(1 + static_cast<std::uint32_t>(random_() % 3));
        count_as_lost(rank);
        network_.crash(rank.id, "killed");
        ranks_.erase(ranks_.begin() + static_cast<std::ptrdiff_t>(chosen));
    }

    // It goes on later, and first reads what had arrived.
    void pause_until_lost(Rank& rank) {
        if (rank.lost) return;
        count_as_lost(rank);
        receive(rank);
        network_.cut(giver_id, rank.id, "it was silent for too long");
        rank.lost = true;
    }

    void count_as_lost(const Rank& rank) {
        for (auto& [position, ranks] : taken_by_living_) ranks.erase(rank.id);
        ++lost_;
    }

    void check() const {
        const bool repeats = delivery_ == Delivery::at_least_once;
        for (std::uint64_t position = 0; position < positions_; ++position) {
            const auto found = taken_.find(position);
            const int times = found == taken_.end() ? 0 : found->second;
            EXPECT_TRUE(times > 0 || (delivery_ == Delivery::at_most_once && lost_ > 0))
                << position << " is lost";
            EXPECT_TRUE(times < 2 || repeats || (delivery_ == Delivery::exactly_once && lost_ > 0))
                << position << " is taken " << times << " times";
            // Of those that live, nobody has what another has.
            const auto lives = taken_by_living_.find(position);
            EXPECT_TRUE(repeats || lives == taken_by_living_.end() || lives->second.size() < 2) << position;
        }
        EXPECT_TRUE(delivery_ != Delivery::exactly_once || giver_.report().late == 0U);
    }

    std::mt19937_64 random_;
    Delivery delivery_;
    bool by_hand_;
    unsigned kills_;  // of ten chances
    std::uint64_t positions_;
    net::LoopbackNetwork network_;
    std::unique_ptr<net::Transport> giver_line_;
    Giver giver_;
    Instant now_{};
    std::vector<std::unique_ptr<NodeTickets>> nodes_;
    std::vector<Rank> ranks_;
    std::map<std::uint64_t, int> taken_;
    std::map<std::uint64_t, std::set<net::PeerId>> taken_by_living_;
    std::uint64_t lost_ = 0;
};

class Feed : public testing::TestWithParam<std::tuple<Delivery, bool, unsigned>> {};

TEST_P(Feed, GivesEachPositionAsPromised) {
    const auto [delivery, by_hand, kills] = GetParam();
    const unsigned seeds = kills > 1 ? 3 : 12;  // these take ten times as long
    for (unsigned seed = 0; seed < seeds; ++seed) {
        Histories(seed, delivery, by_hand, kills).run();
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Deliveries, Feed,
                         testing::Combine(testing::Values(Delivery::exactly_once, Delivery::at_most_once,
                                                          Delivery::at_least_once),
                                          testing::Bool(), testing::Values(0, 1, 4)));

}  // namespace
}  // namespace wq::feed
