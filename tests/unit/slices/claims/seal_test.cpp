// What the giver and takers say to each other, message by message.
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/frames/loopback.h"
#include "slices/claims/giver.h"
#include "slices/claims/taker.h"
#include "unit/slices/claims/fake_counters.h"
#include "unit/slices/claims/node_tickets.h"

namespace wq::slices::claims {
namespace {

using plan::Delivery;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

IntervalSet these(Interval range) {
    IntervalSet all;
    all.insert(range);
    return all;
}

// A giver, and takers of which a test knows each word.
class Talk {
  public:
    explicit Talk(std::uint64_t positions, Delivery delivery = Delivery::exactly_once)
        : line_(network_.endpoint(giver_id)), giver_(plan::PassLedger(positions, delivery), positions) {}

    net::frames::PeerId join(const char* node, bool draws = false) {
        const net::frames::PeerId taker = network_.add();
        lines_[taker] = network_.endpoint(taker);
        network_.connect(giver_id, taker);
        send(taker, Hello{node, taker.value(), draws});
        return taker;
    }
    void send(net::frames::PeerId taker, const Message& message) {
        lines_[taker]->send(giver_id, encode(message));
        give();
    }
    void kill(net::frames::PeerId taker) {
        network_.crash(taker, "killed");
        give();
    }
    // The messages of one kind since the last call for this kind.
    template <class Kind>
    std::vector<Kind> heard(net::frames::PeerId taker) {
        std::vector<net::frames::Arrival> inbox;
        lines_[taker]->poll(inbox);
        for (const net::frames::Arrival& arrival : inbox)
            if (const auto* frame = std::get_if<net::frames::Frame>(&arrival))
                messages_[taker].push_back(*decode(frame->bytes));
        std::vector<Kind> found;
        for (const Message& message : messages_[taker])
            if (const auto* kind = std::get_if<Kind>(&message)) found.push_back(*kind);
        std::erase_if(messages_[taker],
                      [](const Message& each) { return std::holds_alternative<Kind>(each); });
        return found;
    }
    Interval granted(net::frames::PeerId taker) {
        send(taker, Refill{});
        const auto grants = heard<Granted>(taker);
        return grants.empty() ? Interval{} : grants.front().positions;
    }
    Giver& giver() { return giver_; }

  private:
    static constexpr net::frames::PeerId giver_id{0};
    void give() {
        std::vector<net::frames::Arrival> inbox;
        line_->poll(inbox);
        for (const net::frames::Arrival& arrival : inbox) giver_.on(*line_, arrival, {});
    }
    net::frames::LoopbackNetwork network_{1};
    std::unique_ptr<net::frames::Transport> line_;
    std::map<net::frames::PeerId, std::unique_ptr<net::frames::Transport>> lines_;
    std::map<net::frames::PeerId, std::vector<Message>> messages_;
    Giver giver_;
};

TEST(FeedTalk, AnAnswerToAnEarlierGrantIsNoneToTheNext) {
    Talk talk(100);
    const auto taker = talk.join("node");
    const auto mate = talk.join("node");
    const Interval first = talk.granted(taker);
    talk.send(taker, Refill{});
    talk.kill(mate);
    const auto next = talk.heard<Granted>(taker);
    ASSERT_EQ(next.size(), 1U) << "what it was granted before counts as lost";
    talk.send(taker, RefillDone{true, first});
    talk.send(taker, CensusReply{talk.heard<Census>(taker).front().batch, {}});
    talk.send(taker, RefillDone{false, next.front().positions});
    talk.send(taker, Committed{1, these(next.front().positions), {}, {}});
    EXPECT_EQ(talk.giver().report().late, 0U);
    EXPECT_EQ(talk.giver().report().committed, next.front().positions.size());
}

TEST(FeedTalk, NobodyIsToldTheEndBeforeTheLastGrantIsThere) {
    Talk talk(1, Delivery::at_most_once);
    const auto taker = talk.join("node");
    const auto mate = talk.join("node");
    EXPECT_EQ(talk.granted(taker), (Interval{0, 1}));
    talk.send(mate, Refill{});
    talk.send(mate, Committed{0, {}, {}, {}});
    EXPECT_TRUE(talk.heard<Ended>(mate).empty());
    talk.send(taker, RefillDone{false, {0, 1}});
    EXPECT_EQ(talk.heard<NodeRefilled>(mate).size(), 1U);
    EXPECT_EQ(talk.heard<Ended>(mate).size(), 1U);
}

TEST(FeedTalk, ALossAfterTheEndIsTold) {
    Talk talk(1, Delivery::at_most_once);
    const auto taker = talk.join("node");
    const auto other = talk.join("other");
    talk.granted(taker);
    talk.send(taker, RefillDone{false, {0, 1}});
    ASSERT_EQ(talk.heard<Ended>(other).size(), 1U);
    talk.kill(taker);
    const auto ended = talk.heard<Ended>(other);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_TRUE(ended.front().lost_some);
    EXPECT_EQ(talk.giver().report().lost_ranks, 1U);
    talk.send(other, Leaving{});
    EXPECT_EQ(talk.giver().report().lost_ranks, 1U);
}

class FeedSeal : public testing::TestWithParam<Delivery> {
  protected:
    CounterValues values_{};
    FakeCounters counters_{values_};
    std::vector<std::string> said_;
    CarefulCounters::Say say() {
        return [this](const std::string& line) { said_.push_back(line); };
    }
};

// Two nodes draw: one tells it, the other is killed before.
TEST_P(FeedSeal, WhatAKilledTakerDrewAndDidNotTellIsFound) {
    Talk talk(1000, GetParam());
    const auto near = talk.join("rank 0's");
    const auto lives = talk.join("one", true);
    const auto dies = talk.join("other", true);
    talk.giver().nodes().use(counters_, {}, 0, {});
    const auto sealed = talk.heard<SealOpened>(lives);
    ASSERT_EQ(sealed.size(), 1U);
    EXPECT_EQ(sealed.front().positions, (Interval{0, 1000}));
    EXPECT_EQ(sealed.front().takers, 3U);
    EXPECT_TRUE(talk.heard<SealOpened>(near).empty());
    Drawer mine(&counters_, {});
    Drawer lost(&counters_, {});
    mine.begin(sealed.front());
    lost.begin(sealed.front());
    const Interval told = mine.draw(1).value();
    const Interval untold = lost.draw(1).value();
    talk.send(lives, CounterRange{told});
    const Interval near_has = talk.granted(near);
    EXPECT_EQ(near_has.first, untold.end) << "the giver draws, too";
    talk.kill(dies);
    EXPECT_EQ(mine.draw(1), std::nullopt) << "it is closed";
    ASSERT_EQ(talk.heard<SealClosed>(lives).size(), 1U);
    EXPECT_TRUE(talk.heard<SealOpened>(lives).empty()) << "not before it has told what it drew";
    talk.send(lives, SealReply{sealed.front().batch});
    EXPECT_EQ(talk.giver().ledger().audit(), "");
    // Short ranges come by message, and long ones are sealed.
    const bool again = GetParam() != Delivery::at_most_once;
    EXPECT_EQ(talk.giver().report().given_again, again ? untold.size() : 0U);
    const std::uint64_t left = 1000 - told.size() - near_has.size() - (again ? 0 : untold.size());
    EXPECT_EQ(talk.giver().ledger().to_give(), left);
}

// One taker of a node is killed before it has told what it drew, while the seal is closed because of another.
TEST_P(FeedSeal, WhatAMateOfAKilledTakerHasIsNotLost) {
    Talk talk(1000, GetParam());
    const auto has = talk.join("node", true);
    const auto draws = talk.join("node", true);
    const auto other = talk.join("other", true);
    talk.giver().nodes().use(counters_, {}, 0, {});
    const SealOpened sealed = talk.heard<SealOpened>(has).front();
    Drawer drawer(&counters_, {});
    drawer.begin(sealed);
    const Interval drawn = drawer.draw(1).value();
    talk.kill(other);
    talk.send(has, SealReply{sealed.batch});
    talk.kill(draws);
    const auto asked = talk.heard<Census>(has);
    if (GetParam() == Delivery::at_most_once) {
        EXPECT_TRUE(asked.empty()) << "it keeps what it has";
        EXPECT_EQ(talk.giver().ledger().to_give(), 1000 - drawn.size());
        return;
    }
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_TRUE(talk.heard<SealOpened>(has).empty()) << "somebody would draw what the mate has";
    talk.send(has, CensusReply{asked[0].batch, these({drawn.first, drawn.first + 1})});
    EXPECT_EQ(talk.giver().ledger().to_give(), 999U);
    talk.send(has, Committed{1, these({drawn.first, drawn.first + 1}), {}, {}});
    EXPECT_EQ(talk.giver().report().late, 0U);
    EXPECT_EQ(talk.giver().ledger().audit(), "");
}

TEST_P(FeedSeal, CountersThatFailAreSaidOnceAndUsedNoMore) {
    Talk talk(1000, GetParam());
    const auto far = talk.join("far", true);
    talk.giver().nodes().use(counters_, say(), 0, {});
    const SealOpened sealed = talk.heard<SealOpened>(far).front();
    FakeCounters own(values_);
    std::vector<std::string> far_said;
    Drawer drawer(&own, [&](const std::string& line) { far_said.push_back(line); });
    drawer.begin(sealed);
    own.fails = true;
    EXPECT_EQ(drawer.draw(1), std::nullopt);
    own.fails = false;
    drawer.begin(sealed);
    EXPECT_EQ(drawer.draw(1), std::nullopt);
    EXPECT_THAT(far_said, ElementsAre(HasSubstr("by message from now on: the network is gone")));
    const Interval granted = talk.granted(far);
    EXPECT_GT(granted.size(), 0U);
    // The giver's fail now, too: whatever is not told was drawn by nobody.
    counters_.fails = true;
    talk.send(far, RefillDone{false, granted});
    talk.send(far, Refill{});
    EXPECT_EQ(said_.size(), 1U);
    ASSERT_EQ(talk.heard<SealClosed>(far).size(), 1U);
    talk.send(far, SealReply{sealed.batch});
    EXPECT_EQ(talk.giver().ledger().sealed().count(), 0U);
    EXPECT_EQ(talk.giver().ledger().audit(), "");
    EXPECT_EQ(talk.heard<SealOpened>(far).size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Deliveries, FeedSeal,
                         testing::Values(Delivery::exactly_once, Delivery::at_most_once,
                                         Delivery::at_least_once));

// Mates whose node is dry: one draws for all, and others meanwhile for themselves.
TEST_F(FeedSeal, OneMateDrawsForTheNode) {
    NodeTickets node(3);
    const auto pools = {node.of(0), node.of(1)};
    net::frames::LoopbackNetwork network(3);
    std::vector<std::unique_ptr<net::frames::Transport>> lines;
    std::vector<std::unique_ptr<Taker>> takers;
    FakeCounters counters[] = {FakeCounters(values_), FakeCounters(values_)};
    ranks::tickets::BatchCounter(&counters_).set(BatchId(5));
    for (std::uint32_t n = 0; n < 2; ++n) {
        TakerOptions options;
        options.node = "node";
        options.counters = &counters[n];
        lines.push_back(network.endpoint(net::frames::PeerId(n + 1)));
        takers.push_back(std::make_unique<Taker>(**(pools.begin() + n), options, [] {}));
        const net::frames::PeerId giver(0);
        takers[n]->on(*lines[n], net::frames::Joined{giver, ""});
        takers[n]->on(*lines[n], net::frames::Frame{giver, encode(Welcome{1})});
        takers[n]->on(*lines[n], net::frames::Frame{giver, encode(SealOpened{5, {1000, 2000}, 1000, 4})});
        EXPECT_EQ(takers[n]->take_now({}), std::nullopt);
    }
    // 1000 / (4 takers * 8) = 31 for each of three; of the rest, 28 for the other alone.
    constexpr bool commits_due = false;
    counters[0].after = [&] { takers[1]->flush(*lines[1], commits_due, {}); };
    takers[0]->flush(*lines[0], commits_due, {});
    EXPECT_EQ(takers[0]->take_now({}), 1000U);
    EXPECT_EQ(takers[1]->take_now({}), 1093U);
    EXPECT_EQ(values_[5 % values_.size()] & 0xffffU, 93U + 31U);
    // The first filled the node's word, from which the other takes when it has done its own.
    std::optional<std::uint64_t> last = 1093;
    for (std::uint64_t n = 1; n < 31; ++n) last = takers[1]->take_now(last);
    EXPECT_EQ(last, 1123U);
    last = takers[1]->take_now(last);
    EXPECT_TRUE(last && *last < 1093) << *last;
}

}  // namespace
}  // namespace wq::slices::claims
