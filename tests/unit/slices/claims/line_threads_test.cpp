#include "slices/claims/line_threads.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

#include "ranks/tickets/sealed_batch.h"
#include "unit/slices/claims/node_tickets.h"

namespace wq::slices::claims {
namespace {

std::unique_ptr<net::frames::TcpListener> listener() {
    net::frames::TcpListenOptions options;
    options.bind = {"127.0.0.1"};
    options.key = "key";
    return std::move(net::frames::TcpListener::open(std::move(options))).or_throw();
}

net::frames::TcpDialOptions to(std::uint16_t port) {
    net::frames::TcpDialOptions dial;
    dial.managers = {{"127.0.0.1", port}};
    dial.key = "key";
    return dial;
}

TakerOptions of(const char* node) {
    TakerOptions options;
    options.node = node;
    return options;
}

// Each is committed when the next is taken.
void take_all(Taker& taker, std::vector<std::uint64_t>& taken) {
    std::optional<std::uint64_t> position;
    while ((position = taker.take_after(position, {}))) taken.push_back(*position);
}

// As rank 0's memory is to threads.
class AtomicCounters final : public ranks::tickets::Counters {
  public:
    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override {
        ++additions;
        return values_[counter].fetch_add(amount);
    }
    Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) override {
        return values_[counter].exchange(value);
    }
    void serve() override { ++served; }
    std::atomic<std::uint64_t> additions = 0;
    std::atomic<std::uint64_t> served = 0;

  private:
    std::array<std::atomic<std::uint64_t>, ranks::tickets::BatchCounter::counters> values_{};
};

// Two ranks of the giver's node, one of them the giver's own, and two others, each in a thread of its own.
void expect_everybody_takes(AtomicCounters* counters) {
    constexpr std::uint64_t positions = 20'000;
    NodeTickets here(2);
    NodeTickets there(2);
    const auto pools = {here.of(0), here.of(1), there.of(0), there.of(1)};
    std::vector<std::vector<std::uint64_t>> taken(4);
    auto others = listener();
    const std::uint16_t port = others->port();
    {
        GiverLine giver(
            {std::move(others), plan::PassLedger(positions, plan::Delivery::exactly_once), positions / 4},
            **pools.begin(), of("here"));
        if (counters != nullptr) giver.use(*counters);
        std::latch all_here(4);
        std::vector<std::thread> threads;
        for (std::size_t n = 1; n < 4; ++n)
            threads.emplace_back([&, n] {
                TakerOptions options = of(n < 2 ? "here" : "there");
                if (n > 1) options.counters = counters;
                const auto line = TakerLine::open(to(port), **(pools.begin() + n), options).or_throw();
                EXPECT_TRUE(line->taker().join());
                all_here.arrive_and_wait();
                take_all(line->taker(), taken[n]);
                EXPECT_EQ(line->taker().failure(), std::nullopt);
            });
        all_here.arrive_and_wait();
        take_all(giver.taker(), taken[0]);
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(giver.report().committed, positions);
        EXPECT_EQ(giver.report().late, 0U);
        EXPECT_EQ(giver.report().ranks.at(0).taken, positions);
    }
    std::vector<int> times(positions);
    for (const auto& each : taken)
        for (const std::uint64_t position : each) ++times[position];
    EXPECT_EQ(std::count(times.begin(), times.end(), 1), static_cast<std::ptrdiff_t>(positions));
}

TEST(FeedLines, EverybodyTakesAndEachPositionIsTakenOnce) {
    expect_everybody_takes(nullptr);
}

TEST(FeedLines, NodesDrawThroughACounterAndEachPositionIsTakenOnce) {
    AtomicCounters counters;
    expect_everybody_takes(&counters);
    EXPECT_GT(counters.additions, 0U);
    EXPECT_GT(counters.served, 0U);
}

TEST(FeedLines, AloneNobodyIsAsked) {
    NodeTickets here(1);
    const auto pool = here.of(0);
    GiverLine giver({nullptr, plan::PassLedger(1000, plan::Delivery::exactly_once), 1000}, *pool, of("here"));
    std::vector<std::uint64_t> taken;
    take_all(giver.taker(), taken);
    std::vector<std::uint64_t> wanted(1000);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(taken, wanted);
}

TEST(FeedLines, TimesAreRecordedIfTakersHaveAClock) {
    NodeTickets here(1);
    const auto pool = here.of(0);
    TakerOptions timed = of("here");
    timed.rank = 7;
    timed.clock = [now = std::int64_t{0}]() mutable { return ++now; };
    std::vector<Timed> recorded;
    GiverLineOptions options{nullptr, plan::PassLedger(3, plan::Delivery::exactly_once), 3};
    options.record = [&](std::uint32_t rank, const Timed& each) {
        EXPECT_EQ(rank, 7U);
        recorded.push_back(each);
    };
    GiverLine giver(std::move(options), *pool, timed);
    std::vector<std::uint64_t> taken;
    take_all(giver.taker(), taken);
    giver.committed_by_all();
    EXPECT_EQ(recorded, (std::vector<Timed>{{0, 1, 2}, {1, 3, 4}, {2, 5, 6}}));
}

TEST(FeedLines, WhatATakerLeavesIsTakenByOthers) {
    NodeTickets here(1);
    NodeTickets there(1);
    const auto own = here.of(0);
    const auto other = there.of(0);
    auto others = listener();
    const std::uint16_t port = others->port();
    GiverLine giver({std::move(others), plan::PassLedger(50, plan::Delivery::exactly_once), 50}, *own,
                    of("here"));
    {
        const auto line = TakerLine::open(to(port), *other, of("there")).or_throw();
        std::optional<std::uint64_t> position;  // the third is not committed
        for (int n = 0; n < 3; ++n) EXPECT_TRUE((position = line->taker().take_after(position, {})));
    }
    std::vector<std::uint64_t> taken;
    take_all(giver.taker(), taken);
    EXPECT_EQ(taken.size(), 48U);
    EXPECT_EQ(giver.report().committed, 50U);
}

// One waits for what others have; the other does not.
TEST(FeedLines, ATakerThatDoesNotWaitForOthersEndsWhenAllIsGiven) {
    NodeTickets here(1);
    NodeTickets there(1);
    const auto own = here.of(0);
    const auto other = there.of(0);
    auto others = listener();
    const std::uint16_t port = others->port();
    GiverLine giver({std::move(others), plan::PassLedger(2, plan::Delivery::exactly_once), 2}, *own,
                    of("here"));
    TakerOptions options = of("there");
    options.wait_for_others = false;
    const auto line = TakerLine::open(to(port), *other, options).or_throw();
    const auto first = giver.taker().take_after({}, {});
    ASSERT_TRUE(first);
    std::vector<std::uint64_t> taken;
    take_all(line->taker(), taken);
    EXPECT_EQ(taken.size(), 1U);
    EXPECT_EQ(line->taker().take_after({}, {}), std::nullopt) << "again";
    EXPECT_EQ(giver.taker().take_after({}, {}, instant_now()), std::nullopt);
    giver.taker().give_back({*first});
    EXPECT_EQ(giver.taker().take_after({}, {}), first);
    EXPECT_EQ(giver.taker().take_after(first, {}), std::nullopt) << "the end";
    EXPECT_EQ(giver.report().committed, 2U);
}

TEST(FeedLines, WhatOthersHaveCommittedIsKnownWhenItIsAskedFor) {
    NodeTickets here(1);
    NodeTickets there(1);
    const auto own = here.of(0);
    const auto other = there.of(0);
    auto others = listener();
    const std::uint16_t port = others->port();
    GiverLine giver({std::move(others), plan::PassLedger(50, plan::Delivery::exactly_once), 50}, *own,
                    of("here"));
    const auto line = TakerLine::open(to(port), *other, of("there")).or_throw();
    for (std::uint64_t n = 1; n <= 20; ++n) {
        const auto position = line->taker().take_after({}, {});
        ASSERT_TRUE(position);
        EXPECT_EQ(giver.committed_by_all().count(), n - 1);
        EXPECT_TRUE(line->taker().commit(*position));
        EXPECT_TRUE(giver.committed_by_all().contains(*position));
    }
}

// Two ranks of a node: one gives up, and stays.
TEST(FeedLines, WhatATakerGivesBackIsTakenByOthers) {
    NodeTickets here(2);
    const auto own = here.of(0);
    const auto other = here.of(1);
    auto others = listener();
    const std::uint16_t port = others->port();
    GiverLine giver({std::move(others), plan::PassLedger(50, plan::Delivery::exactly_once), 50}, *own,
                    of("here"));
    const auto line = TakerLine::open(to(port), *other, of("here")).or_throw();
    ASSERT_TRUE(line->taker().join());
    std::vector<std::uint64_t> some;
    for (int n = 0; n < 3; ++n) some.push_back(*line->taker().take_after({}, {}));
    EXPECT_EQ(line->taker().taken(), 3U);
    line->taker().give_back(some);
    EXPECT_EQ(line->taker().taken(), 0U);
    EXPECT_FALSE(line->taker().commit(some[0])) << "it is nobody's";
    std::vector<std::uint64_t> taken;
    take_all(giver.taker(), taken);
    EXPECT_EQ(taken.size(), 50U);
}

TEST(FeedLines, AWaitCanBeStopped) {
    NodeTickets here(1);
    const auto pool = here.of(0);
    GiverLine giver({nullptr, plan::PassLedger(1, plan::Delivery::exactly_once), 1}, *pool, of("here"));
    const auto only = giver.taker().take_after({}, {});
    std::stop_source stop;
    std::thread waits([&] { EXPECT_EQ(giver.taker().take_after({}, stop.get_token()), std::nullopt); });
    while (giver.report().waiting == 0) std::this_thread::yield();
    stop.request_stop();
    waits.join();
    EXPECT_EQ(giver.taker().take_after(only, {}), std::nullopt) << "the end";
    EXPECT_EQ(giver.report().committed, 1U);
}

TEST(FeedLines, NobodyWaitsForAGiverThatIsNotThere) {
    NodeTickets here(1);
    const auto pool = here.of(0);
    std::uint16_t port = 0;
    port = listener()->port();  // nobody listens there any more
    const auto line = TakerLine::open(to(port), *pool, of("here")).or_throw();
    EXPECT_EQ(line->taker().take_after({}, {}), std::nullopt);
    EXPECT_NE(line->taker().failure(), std::nullopt);
}

}  // namespace
}  // namespace wq::slices::claims
