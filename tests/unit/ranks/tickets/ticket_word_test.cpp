#include "ranks/tickets/ticket_pool.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

namespace wq::ranks::tickets {
namespace {

TEST(TicketWord, PacksAndUnpacks) {
    for (const TicketWord word : {TicketWord{0, 0, 0}, TicketWord{1, 2, 3},
                                  TicketWord{(1u << 22) - 1, kMostTickets, (1u << kTagBits) - 1}}) {
        EXPECT_EQ(unpack(pack(word)), word);
    }
}

TEST(TicketWord, ClaimsEndAtTheEnd) {
    std::atomic<std::uint64_t> word{pack({0, 10, 5})};
    WordClaimer claimer(word);
    EXPECT_EQ(claimer.claim(4).first, 0u);
    const WordClaim second = claimer.claim(4);
    EXPECT_EQ(second.first, 4u);
    EXPECT_EQ(second.remaining, 2u);
    const WordClaim last = claimer.claim(4);
    EXPECT_EQ(last.first, 8u);
    EXPECT_EQ(last.count, 2u);
    EXPECT_EQ(last.tag, 5u);
    EXPECT_EQ(claimer.claim(4).count, 0u);
}

TEST(TicketWord, ADryWordIsNotWornOutByClaims) {
    std::atomic<std::uint64_t> word{pack({0, 1, 7})};
    std::vector<WordClaimer> claimers(kMostClaimers, WordClaimer(word));
    std::uint32_t claimed = 0;
    for (int round = 0; round < 1000; ++round) {
        for (WordClaimer& claimer : claimers) claimed += claimer.claim(kMostClaim).count;
    }
    EXPECT_EQ(claimed, 1u);
    EXPECT_EQ(unpack(word).end, 1u);
    EXPECT_EQ(unpack(word).tag, 7u);
}

TEST(TicketWord, TheWorstOvershootNeitherWrapsNorTouchesEndAndTag) {
    std::atomic<std::uint64_t> word{pack({kMostTickets, kMostTickets, 9})};
    for (std::uint32_t i = 0; i < kMostClaimers; ++i) word.fetch_add(std::uint64_t{kMostClaim} << 42);
    EXPECT_EQ(unpack(word).remaining(), 0u);
    EXPECT_EQ(unpack(word).end, kMostTickets);
    EXPECT_EQ(unpack(word).tag, 9u);
}

TEST(TicketWord, ThreadsClaimEveryTicketOnce) {
    constexpr std::uint32_t kTickets = 200000;
    std::atomic<std::uint64_t> word{pack({0, kTickets, 1})};
    std::vector<std::atomic<int>> seen(kTickets);
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            WordClaimer claimer(word);
            for (WordClaim got = claimer.claim(t + 1); got.count > 0; got = claimer.claim(t + 1)) {
                for (std::uint32_t i = 0; i < got.count; ++i) ++seen[got.first + i];
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& times : seen) ASSERT_EQ(times, 1);
}

TEST(GuidedSize, EndsWithSinglesAndNeverTakesMoreThanThereIs) {
    for (const std::uint64_t takers : {1u, 2u, 7u, 512u}) {
        std::uint64_t remaining = 100000;
        std::uint64_t last = 1u << 30;
        while (remaining > 0) {
            const std::uint64_t size = guided_size(remaining, takers);
            ASSERT_GE(size, 1u);
            ASSERT_LE(size, remaining);
            ASSERT_LE(size, kMostClaim);
            ASSERT_LE(size, last);
            last = size;
            remaining -= size;
        }
        EXPECT_EQ(last, 1u);
    }
}

TEST(GuidedSize, KeepsItsBounds) {
    EXPECT_EQ(guided_size(0, 4), 0u);
    EXPECT_EQ(guided_size(3, 4, 10, 100), 3u);
    EXPECT_EQ(guided_size(1000, 0, 1, 100), 100u);
    EXPECT_EQ(guided_size(1000, 5, 1, 4096, 4), 50u);
}

}  // namespace
}  // namespace wq::ranks::tickets
