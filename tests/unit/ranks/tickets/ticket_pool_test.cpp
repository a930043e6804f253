#include "ranks/tickets/ticket_pool.h"

#include <gmock/gmock.h>

#include <mutex>
#include <thread>

#include "ranks/mpi/segment.h"

namespace wq::ranks::tickets {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using namespace std::chrono_literals;

const BatchId kBatch(3);

struct Node {
    explicit Node(PoolShape with = {})
        : shape(with), segment(mpi::make_private_segment(TicketPool::bytes_needed(with))) {
        TicketPool::format(segment->data(), shape);
    }
    TicketPool rank(std::uint32_t number) { return {segment->data(), shape, number}; }
    PoolShape shape;
    std::unique_ptr<mpi::Segment> segment;
};

TEST(TicketPool, IsDryUntilFilled) {
    Node node;
    TicketPool pool = node.rank(0);
    EXPECT_EQ(pool.take(1).state, Claim::State::dry);
    EXPECT_EQ(pool.remaining(), 0u);
}

TEST(TicketPool, ARangeInstalledByOneRankIsClaimedByAll) {
    Node node({.ranks = 2});
    TicketPool first = node.rank(0);
    TicketPool second = node.rank(1);
    EXPECT_EQ(first.install({kBatch, 1000000000000, 5}), Install::installed);
    const Claim one = second.take(2);
    const Claim two = first.take(8);
    EXPECT_EQ(one.range, (TicketRange{kBatch, 1000000000000, 2}));
    EXPECT_EQ(one.remaining, 3u);
    EXPECT_EQ(two.range, (TicketRange{kBatch, 1000000000002, 3}));
    EXPECT_EQ(second.take(1).state, Claim::State::dry);
}

TEST(TicketPool, AnInstallThatIsLateIsLostAndSpoilsNothing) {
    Node node({.ranks = 2});
    TicketPool first = node.rank(0);
    TicketPool second = node.rank(1);
    EXPECT_EQ(first.install({kBatch, 0, 2}), Install::installed);
    EXPECT_EQ(second.install({kBatch, 2, 2}), Install::lost);
    EXPECT_EQ(second.take(5).range, (TicketRange{kBatch, 0, 2}));
    EXPECT_EQ(second.install({kBatch, 2, 2}), Install::installed);
    EXPECT_EQ(first.take(5).range, (TicketRange{kBatch, 2, 2}));
}

TEST(TicketPool, TextsComeWithTheirTickets) {
    Node node({.ranks = 2});
    TicketPool writer = node.rank(1);
    TicketPool reader = node.rank(0);
    const std::vector<std::string> texts{"echo one", "", "echo three, a longer line than the others", "x"};
    EXPECT_EQ(writer.install({kBatch, 10, 4}, texts), Install::installed);
    EXPECT_THAT(reader.texts(reader.take(1)), Optional(ElementsAre(texts[0])));
    EXPECT_THAT(reader.texts(reader.take(2)), Optional(ElementsAre(texts[1], texts[2])));
    EXPECT_THAT(reader.texts(reader.take(9)), Optional(ElementsAre(texts[3])));
}

TEST(TicketPool, RangesHaveNoTexts) {
    Node node;
    TicketPool pool = node.rank(0);
    EXPECT_EQ(pool.install({kBatch, 0, 2}), Install::installed);
    EXPECT_THAT(pool.texts(pool.take(2)), Optional(IsEmpty()));
}

TEST(TicketPool, WhatDoesNotFitIsRefused) {
    Node node({.ranks = 1, .text_bytes = 1024});
    TicketPool pool = node.rank(0);
    EXPECT_EQ(pool.install({kBatch, 0, 1}, std::vector<std::string>{std::string(1021, 'x')}),
              Install::too_large);
    EXPECT_EQ(pool.install({kBatch, 0, kMostTickets + 1}), Install::too_large);
    EXPECT_EQ(pool.install({kBatch, 0, 2}, std::vector<std::string>{"one text for two"}), Install::too_large);
    EXPECT_EQ(pool.install({kBatch, 0, 1}, std::vector<std::string>{std::string(1020, 'x')}),
              Install::installed);
    EXPECT_EQ(pool.texts(pool.take(1))->front().size(), 1020u);
}

TEST(TicketPool, AnOverwrittenTextIsNoticedButTheClaimStands) {
    Node node({.ranks = 2, .text_bytes = 1024});
    TicketPool writer = node.rank(0);
    TicketPool slow = node.rank(1);
    const std::vector<std::string> text{std::string(600, 'a')};
    EXPECT_EQ(writer.install({kBatch, 0, 1}, text), Install::installed);
    const Claim claim = slow.take(1);
    EXPECT_EQ(writer.install({kBatch, 1, 1}, text), Install::installed);
    EXPECT_EQ(slow.texts(claim), std::nullopt);
    EXPECT_EQ(claim.range, (TicketRange{kBatch, 0, 1}));
}

TEST(TicketPool, AnOverwrittenTextIsNoticedAlsoWhereItLooksSound) {
    Node node({.ranks = 2, .text_bytes = 1024});
    TicketPool writer = node.rank(0);
    TicketPool slow = node.rank(1);
    ASSERT_EQ(writer.install({kBatch, 0, 1}, std::vector<std::string>{std::string(600, 'a')}),
              Install::installed);
    const Claim claim = slow.take(1);
    // The first fill says that its text has 600 bytes, and the second does too.
    std::string same_ends;
    while (same_ends.size() < 600) same_ends += std::string("\x58\x02\0\0", 4);
    ASSERT_EQ(writer.install({kBatch, 1, 1}, std::vector<std::string>{same_ends}), Install::installed);
    EXPECT_EQ(slow.texts(claim), std::nullopt);
}

TEST(TicketPool, RevokeReturnsTheUnclaimedOfItsBatchOnly) {
    Node node({.ranks = 2});
    TicketPool first = node.rank(0);
    TicketPool second = node.rank(1);
    EXPECT_EQ(first.revoke(kBatch), std::nullopt);
    EXPECT_EQ(first.install({kBatch, 100, 10}), Install::installed);
    second.take(4);
    EXPECT_EQ(second.revoke(BatchId(4)), std::nullopt);
    EXPECT_EQ(second.revoke(kBatch), (TicketRange{kBatch, 104, 6}));
    EXPECT_EQ(second.revoke(kBatch), std::nullopt);
    EXPECT_EQ(first.take(1).state, Claim::State::dry);
    EXPECT_EQ(first.install({BatchId(4), 0, 1}), Install::installed);
}

TEST(TicketPool, OneRankHasTheTurnToRefillUntilItsPatienceEnds) {
    Node node({.ranks = 2});
    TicketPool first = node.rank(0);
    TicketPool second = node.rank(1);
    const Instant now = Instant{} + 1s;
    EXPECT_TRUE(first.refill_turn(now, 10ms));
    EXPECT_FALSE(second.refill_turn(now + 9ms, 10ms));
    EXPECT_TRUE(second.refill_turn(now + 10ms, 10ms));
    second.end_refill_turn();
    EXPECT_TRUE(first.refill_turn(now + 11ms, 10ms));
}

TEST(TicketPool, TagsThatComeBackAreNotMistaken) {
    Node node({.ranks = 2});
    TicketPool writer = node.rank(0);
    TicketPool idle = node.rank(1);
    writer.install({kBatch, 0, 2});
    EXPECT_EQ(idle.take(1).range.first, 0u);
    writer.take(1);
    // 2^13 fills later the word's tag is the same again.
    for (std::uint64_t fill = 1; fill < 1u << 13; ++fill) {
        ASSERT_EQ(writer.install({kBatch, fill * 10, 1}), Install::installed);
        ASSERT_EQ(writer.take(1).range.first, fill * 10);
    }
    writer.install({BatchId(9), 777, 1});
    EXPECT_EQ(idle.take(1).range, (TicketRange{BatchId(9), 777, 1}));
}

// What rank 0 gives: ranges of one batch, in order.
class Source {
  public:
    Source(std::uint64_t end, std::uint32_t most) : end_(end), most_(most) {}
    std::optional<TicketRange> next() {
        std::lock_guard lock(mutex_);
        if (next_ == end_) return std::nullopt;
        const auto count = static_cast<std::uint32_t>(guided_size(end_ - next_, 4, 1, most_));
        next_ += count;
        return TicketRange{kBatch, next_ - count, count};
    }

  private:
    std::mutex mutex_;
    std::uint64_t next_ = 0;
    std::uint64_t end_;
    std::uint32_t most_;
};

std::string text_of(std::uint64_t ticket) {
    return "task " + std::to_string(ticket) + std::string(ticket % 40, '.');
}

struct Tally {
    explicit Tally(std::size_t tickets) : seen(tickets) {}
    std::vector<std::atomic<int>> seen;
    std::atomic<std::uint64_t> overwritten{0};
    std::atomic<std::uint64_t> texts_gone{0};
    std::atomic<int> wrong_texts{0};
};

// One rank: claims; when the word is empty, fetches a range and installs it; a range that it cannot install
// it processes itself.
class Worker {
  public:
    Worker(TicketPool pool, Source& source, Tally& tally) : pool_(pool), source_(source), tally_(tally) {}

    void run() {
        for (;;) {
            const Claim claim = pool_.take(guess_);
            if (claim.state == Claim::State::claimed) {
                work(claim);
            } else if (claim.state == Claim::State::dry && !refill()) {
                break;
            }
        }
        tally_.overwritten += pool_.overwritten();
    }

  private:
    void work(const Claim& claim) {
        guess_ = static_cast<std::uint32_t>(guided_size(claim.remaining, 4, 1, 16));
        mark(claim.range);
        const auto texts = pool_.texts(claim);
        if (!texts) {
            ++tally_.texts_gone;
            return;
        }
        for (std::uint32_t i = 0; i < claim.range.count; ++i) {
            if ((*texts)[i] != text_of(claim.range.first + i)) ++tally_.wrong_texts;
        }
    }

    bool refill() {
        const auto range = source_.next();
        if (!range) return pool_.remaining() > 0;
        std::vector<std::string> texts;
        for (std::uint32_t i = 0; i < range->count; ++i) texts.push_back(text_of(range->first + i));
        if (pool_.install(*range, texts) != Install::installed) mark(*range);
        return true;
    }

    void mark(const TicketRange& range) {
        for (std::uint32_t i = 0; i < range.count; ++i) ++tally_.seen[range.first + i];
    }

    TicketPool pool_;
    Source& source_;
    Tally& tally_;
    std::uint32_t guess_ = 1;
};

// Small fills and a small ring of texts, so that writers overtake claimers as often as possible.
TEST(TicketPool, UnderStressEveryTicketIsClaimedOnceAndNoTextIsWrong) {
    constexpr std::uint64_t kTickets = 60000;
    Node node({.ranks = 4, .text_bytes = 4096});
    Source source(kTickets, 40);
    Tally tally(kTickets);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        threads.emplace_back([&, rank] { Worker(node.rank(rank), source, tally).run(); });
    }
    for (std::thread& thread : threads) thread.join();
    std::uint64_t missing = 0;
    for (const auto& times : tally.seen) {
        ASSERT_LE(times, 1);
        missing += times == 0 ? 1 : 0;
    }
    EXPECT_EQ(missing, tally.overwritten);
    EXPECT_EQ(tally.wrong_texts, 0);
}

}  // namespace
}  // namespace wq::ranks::tickets
