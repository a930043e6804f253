#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>
#include <unordered_set>

#include "engine/tasklist/sources.h"

namespace {

using wq::engine::tasklist::content_key;

// Journals hold these: a change of the function would make every resumed run start over.
TEST(ContentKey, NeverChanges) {
    EXPECT_EQ(content_key("", 0), 1676944479621159638U);
    EXPECT_EQ(content_key("echo hello", 0), 114567206179490680U);
    EXPECT_EQ(content_key("echo hello", 1), 10869719050928076045U);
    EXPECT_EQ(content_key("gr\xC3\xBC\xC3\x9F and more than sixteen bytes", 0), 9266075950148007916U);
}

TEST(ContentKey, LinesAndOccurrencesAreToldApart) {
    std::unordered_set<std::uint64_t> keys;
    std::size_t count = 0;
    for (int line = 0; line < 200'000; ++line) {
        keys.insert(content_key("process --input file_" + std::to_string(line) + ".dat", 0));
        ++count;
    }
    for (std::uint32_t occurrence = 0; occurrence < 200'000; ++occurrence) {
        keys.insert(content_key("sleep 1", occurrence));
        ++count;
    }
    std::string zeros;
    for (int size = 0; size < 200; ++size, zeros += '\0') {
        keys.insert(content_key(zeros, 0));
        ++count;
    }
    EXPECT_EQ(keys.size(), count);
}

// One bit of the text changes each bit of the key about half the time.
TEST(ContentKey, EveryBitOfTheTextReachesEveryBitOfTheKey) {
    std::mt19937_64 random(31);
    for (const std::size_t size : {1U, 7U, 8U, 9U, 24U, 61U}) {
        constexpr int rounds = 4000;
        std::array<int, 64> flips{};
        for (int round = 0; round < rounds; ++round) {
            std::string text(size, ' ');
            for (char& c : text) c = static_cast<char>(random());
            const std::uint64_t before = content_key(text, 0);
            text[random() % size] ^= static_cast<char>(1U << (random() % 8));
            const std::uint64_t changed = before ^ content_key(text, 0);
            for (std::size_t bit = 0; bit < 64; ++bit) flips[bit] += (changed >> bit & 1) != 0 ? 1 : 0;
        }
        for (const int count : flips) {
            EXPECT_NEAR(count, rounds / 2, rounds / 16) << size;  // 8 standard deviations
        }
    }
}

}  // namespace
