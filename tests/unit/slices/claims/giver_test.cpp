#include "slices/claims/giver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "net/frames/loopback.h"
#include "slices/claims/taker.h"
#include "unit/slices/claims/fake_counters.h"
#include "unit/slices/claims/node_tickets.h"

namespace wq::slices::claims {
namespace {

using plan::Delivery;

// How a history went: what it must show for its seeds to be worth anything.
struct Seen {
    std::uint64_t joined_a_node = 0;
    // While a taker was asked what it has, and has not answered:
    std::uint64_t gave_back = 0;
    std::uint64_t committed = 0;
    std::uint64_t taken = 0;
    std::uint64_t joined = 0;
    std::uint64_t asked_all = 0;
    // With a counter:
    std::uint64_t drew = 0;
    std::uint64_t killed_after_addition = 0;
    std::uint64_t disturbed = 0;  // others acted between an addition and what its caller did with it
};

struct Settings {
    Delivery delivery;
    bool by_hand;    // otherwise a rank commits what it took when it takes the next
    unsigned kills;  // of ten chances
    bool counter;    // nodes but the first draw from it
};

struct KilledHere {};  // thrown through a taker, which goes no further

// A giver and ranks on nodes, by turns in one thread. Ranks take, hold, commit, give back, and are killed or
// paused at any moment.
class Histories {
  public:
    Histories(unsigned seed, const Settings& settings, Seen& seen)
        : random_(seed),
          set_(settings),
          seen_(seen),
          positions_(1 + random_() % 300),
          network_(1, seed),
          giver_line_(network_.endpoint(giver_id)),
          giver_(plan::PassLedger(positions_, set_.delivery), 1 + positions_ / 2) {
        for (int n = 0; n < 3; ++n) add_node();
        if (set_.counter) giver_.nodes().use(giver_counters_, {}, 7, now_);
    }

    void run() {
        for (std::uint64_t steps = 0; !done(); ++steps) {
            if (ranks_.empty()) add_node();
            step();
            if (steps % 32 == 0) {
                ASSERT_EQ(giver_.ledger().audit(), "");
            }
            ASSERT_LT(steps, 200'000U) << "it does not end: " << giver_.ledger().committed().count() << " of "
                                       << positions_ << " are committed, " << giver_.ledger().sealed().count()
                                       << " sealed, " << giver_.report().waiting << " wait";
        }
        check();
    }

  private:
    static constexpr net::frames::PeerId giver_id{0};
    struct Rank {
        net::frames::PeerId id;
        std::unique_ptr<net::frames::Transport> line;
        std::unique_ptr<ranks::tickets::TicketPool> pool;
        std::unique_ptr<FakeCounters> counters;
        std::unique_ptr<Taker> taker;
        std::vector<std::uint64_t> has;
        bool told_end = false;
        bool over = false;                       // and has taken what it still had
        bool lost = false;                       // it was paused, and does not know it yet
        std::deque<net::frames::Arrival> inbox;  // arrived, not looked at
    };
    struct Place {  // for a node's ranks; some come later
        std::unique_ptr<NodeTickets> tickets;
        std::uint32_t size = 0;
        std::uint32_t used = 0;
    };

    bool at_most_once() const { return set_.delivery == Delivery::at_most_once; }
    bool done() const {
        if (!giver_.ended() && !at_most_once()) return false;
        return !ranks_.empty() &&
               std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->over; });
    }

    void add_node() {
        Place place;
        place.size = 1 + static_cast<std::uint32_t>(random_() % 5);
        place.tickets = std::make_unique<NodeTickets>(place.size);
        nodes_.push_back(std::move(place));
        const std::uint64_t at_once = 1 + random_() % nodes_.back().size;
        for (std::uint64_t n = 0; n < at_once; ++n) add_rank(nodes_.size() - 1);
    }

    void add_rank(std::size_t node) {
        auto added = std::make_unique<Rank>();
        added->id = network_.add();
        added->line = network_.endpoint(added->id);
        added->pool = nodes_[node].tickets->of(nodes_[node].used++);
        added->counters = std::make_unique<FakeCounters>(values_);
        TakerOptions options;
        options.node = "node" + std::to_string(node);
        options.most_claimed = 5;
        if (set_.counter && node > 0) options.counters = added->counters.get();
        added->taker = std::make_unique<Taker>(*added->pool, options, [] {});
        ranks_.push_back(std::move(added));
        network_.connect(giver_id, ranks_.back()->id);
    }

    void add_rank_to_a_node() {
        const std::size_t node = random_() % nodes_.size();
        if (nodes_[node].used == nodes_[node].size) return;
        add_rank(node);
        ++seen_.joined_a_node;
        seen_.joined += anybody_is_asked();
    }

    static bool is_count(const net::frames::Arrival& arrival) {
        const auto* frame = std::get_if<net::frames::Frame>(&arrival);
        const auto message = frame != nullptr ? decode(frame->bytes) : std::nullopt;
        return message && std::holds_alternative<Census>(*message);
    }
    static bool is_asked(const Rank& rank) {
        return std::any_of(rank.inbox.begin(), rank.inbox.end(), is_count);
    }
    bool anybody_is_asked() const {
        return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return is_asked(*rank); });
    }

    void receive(Rank& rank) {
        std::vector<net::frames::Arrival> inbox;
        rank.line->poll(inbox);
        rank.inbox.insert(rank.inbox.end(), inbox.begin(), inbox.end());
    }
    void look(Rank& rank) {
        receive(rank);
        for (auto left = random_() % 3; left > 0 && !rank.inbox.empty(); --left) {
            const auto* frame = std::get_if<net::frames::Frame>(&rank.inbox.front());
            const auto message = frame != nullptr ? decode(frame->bytes) : std::nullopt;
            if (message && std::holds_alternative<Ended>(*message)) rank.told_end = true;
            rank.taker->on(*rank.line, rank.inbox.front());
            rank.inbox.pop_front();
        }
    }
    void give() {
        std::vector<net::frames::Arrival> inbox;
        giver_line_->poll(inbox);
        for (const net::frames::Arrival& arrival : inbox) giver_.on(*giver_line_, arrival, now_);
        if (const auto due = giver_.wakeup(); due && now_ >= *due) giver_.tick(now_);
    }

    void step() {
        now_ += std::chrono::milliseconds(random_() % 50);
        const std::size_t chosen = random_() % ranks_.size();
        Rank& rank = *ranks_[chosen];
        switch (random_() % 10) {
            case 0:
            case 1:
                return give();
            case 2:
            case 3:
                return look(rank);
            case 4:
            case 5:
                return flush(chosen);
            case 6:
                if (random_() % 10 < set_.kills) random_() % 2 == 0 ? kill(chosen) : pause_until_lost(rank);
                return;
            case 7:
                if (set_.by_hand && !rank.has.empty()) commit(rank);
                return;
            case 8:
                return seldom(rank);
            default:
                if (!set_.by_hand || rank.has.size() <= 3 || at_most_once()) take(rank);
        }
    }

    void seldom(Rank& rank) {
        switch (random_() % 16) {
            case 0:
                return give_back(rank);
            case 1:
                giver_.ask_all();
                seen_.asked_all += anybody_is_asked();
                return;
            case 2:
                return add_rank_to_a_node();
            default:
                return;
        }
    }

    void flush(std::size_t chosen) {
        Rank& rank = *ranks_[chosen];
        const std::uint64_t how = random_() % 8;
        rank.counters->fails = random_() % 50 == 0;
        rank.counters->after = [&] {
            ++seen_.drew;
            if (how == 0 && random_() % 10 < set_.kills) throw KilledHere{};
            if (how > 4) disturb(rank);
        };
        try {
            rank.taker->flush(*rank.line, random_() % 2 == 0, now_);
        } catch (KilledHere) {
            ++seen_.killed_after_addition;
            kill(chosen);
        }
    }
    void disturb(const Rank& rank) {
        ++seen_.disturbed;
        for (auto left = random_() % 20; left > 0; --left) {
            Rank& other = *ranks_[random_() % ranks_.size()];
            if (random_() % 3 == 0) give();
            if (&other == &rank) continue;
            other.counters->after = [] {};
            other.counters->fails = false;
            look(other);
            other.taker->flush(*other.line, random_() % 2 == 0, now_);
            take(other);
        }
        if (random_() % 10 >= set_.kills) return;
        const auto found = std::find_if(ranks_.begin(), ranks_.end(), [&](const auto& other) {
            return other.get() != &rank && !other->lost;
        });
        if (found != ranks_.end()) pause_until_lost(**found), give();
    }

    void take(Rank& rank) {
        const bool may_end = rank.told_end || rank.taker->failure();
        std::optional<std::uint64_t> done;
        if (!set_.by_hand && !rank.has.empty()) done = rank.has.back();
        const auto position = rank.taker->take_now(done);
        if (done) rank.has.clear();
        rank.over = may_end && !position;
        if (!position) return;
        seen_.taken += is_asked(rank);
        ++taken_[*position];
        if (!rank.lost) taken_by_living_[*position].insert(rank.id);
        rank.has.push_back(*position);
    }

    void commit(Rank& rank) {
        const bool counts = rank.taker->commit(rank.has.back());
        EXPECT_TRUE(rank.lost || counts != at_most_once());
        EXPECT_FALSE(rank.taker->commit(rank.has.back()));
        seen_.committed += counts && is_asked(rank);
        rank.has.pop_back();
    }

    void give_back(Rank& rank) {
        const std::vector<std::uint64_t> some = std::exchange(rank.has, {});
        rank.taker->give_back(some);
        seen_.gave_back += is_asked(rank);
        for (const std::uint64_t position : some) {
            --taken_[position];
            taken_by_living_[position].erase(rank.id);
        }
        rank.over = false;
    }

    // Some of what it sent is lost with it; now and then it has also claimed, or filled, and said nothing.
    void kill(std::size_t chosen) {
        Rank& rank = *ranks_[chosen];
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
        const bool repeats = set_.delivery == Delivery::at_least_once;
        for (std::uint64_t position = 0; position < positions_; ++position) {
            const auto found = taken_.find(position);
            const int times = found == taken_.end() ? 0 : found->second;
            EXPECT_TRUE(times > 0 || (at_most_once() && lost_ > 0)) << position << " is lost";
            EXPECT_TRUE(times < 2 || repeats || (set_.delivery == Delivery::exactly_once && lost_ > 0))
                << position << " is taken " << times << " times";
            // Of those that live, nobody has what another has.
            const auto lives = taken_by_living_.find(position);
            EXPECT_TRUE(repeats || lives == taken_by_living_.end() || lives->second.size() < 2) << position;
        }
        EXPECT_TRUE(set_.delivery != Delivery::exactly_once || giver_.report().late == 0U);
    }

    std::mt19937_64 random_;
    Settings set_;
    Seen& seen_;
    std::uint64_t positions_;
    net::frames::LoopbackNetwork network_;
    std::unique_ptr<net::frames::Transport> giver_line_;
    CounterValues values_{};
    FakeCounters giver_counters_{values_};
    Giver giver_;
    Instant now_{};
    std::vector<Place> nodes_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    std::map<std::uint64_t, int> taken_;
    std::map<std::uint64_t, std::set<net::frames::PeerId>> taken_by_living_;
    std::uint64_t lost_ = 0;
};

class Feed : public testing::TestWithParam<std::tuple<Delivery, bool, unsigned, bool>> {};

TEST_P(Feed, GivesEachPositionAsPromised) {
    const auto [delivery, by_hand, kills, counter] = GetParam();
    // Those with many kills take ten times as long; those that wait for nothing, a tenth.
    const unsigned seeds = delivery == Delivery::at_most_once ? 100 : kills > 1 ? 3 : 12;
    Seen seen;
    for (unsigned seed = 0; seed < seeds; ++seed) {
        Histories(seed, {delivery, by_hand, kills, counter}, seen).run();
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
    EXPECT_GT(seen.joined_a_node, 0U);
    EXPECT_TRUE(!counter || (seen.drew > 0 && seen.disturbed > 0));
    EXPECT_TRUE(!counter || kills == 0 || seen.killed_after_addition > 0);
    if (kills == 0 || delivery == Delivery::at_most_once) return;  // nobody is asked
    EXPECT_GT(seen.gave_back, 0U);
    EXPECT_TRUE(!by_hand || seen.committed > 0);
    EXPECT_GT(seen.taken, 0U);
    EXPECT_GT(seen.joined, 0U);
    EXPECT_GT(seen.asked_all, 0U);
}

// Also what had arrived with its garbage: a Hello there would be a taker that nobody can lose.
TEST(Giver, WhoSaysGarbageIsRefusedForGood) {
    net::frames::LoopbackNetwork network(2);
    const auto giver_line = network.endpoint(net::frames::PeerId(0));
    const auto stranger = network.endpoint(net::frames::PeerId(1));
    network.connect(net::frames::PeerId(0), net::frames::PeerId(1));
    for (const std::string& frame :
         {std::string("garbage"), encode(Hello{"node", no_rank}), encode(Refill{})})
        stranger->send(net::frames::PeerId(0), frame);
    Giver giver(plan::PassLedger(100, Delivery::exactly_once), 50);
    std::vector<net::frames::Arrival> inbox;
    giver_line->poll(inbox);
    for (const net::frames::Arrival& arrival : inbox) giver.on(*giver_line, arrival, {});
    EXPECT_EQ(giver.takers(), 0U);
    EXPECT_EQ(giver.report().to_give, 100U);
}

INSTANTIATE_TEST_SUITE_P(Deliveries, Feed,
                         testing::Combine(testing::Values(Delivery::exactly_once, Delivery::at_most_once,
                                                          Delivery::at_least_once),
                                          testing::Bool(), testing::Values(0, 1, 4), testing::Bool()));

}  // namespace
}  // namespace wq::slices::claims
