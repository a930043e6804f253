#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "engine/tasklist/list.h"
#include "engine/tasklist/sources.h"

namespace {

using wq::engine::tasklist::first_common;
using wq::engine::tasklist::IndexRange;
using wq::engine::tasklist::IndexSet;

std::vector<std::uint64_t> all_of(const IndexSet& set) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t n = 0; n < set.count(); ++n) all.push_back(set.at(n));
    return all;
}

TEST(IndexSet, TakesSlurmsGrammar) {
    const std::pair<const char*, std::vector<std::uint64_t>> cases[] = {
        {"7", {7}},
        {"0", {0}},
        {"1-5", {1, 2, 3, 4, 5}},
        {"1-10:4", {1, 5, 9}},
        {"1-9:4", {1, 5, 9}},
        {"3,7,10-12", {3, 7, 10, 11, 12}},
        {"10-12,3", {10, 11, 12, 3}},
        {"5-5:9", {5}},
        {"1-3:9,2-3", {1, 2, 3}},
        {"007", {7}},
        {"1-9:2,2-10:2", {1, 3, 5, 7, 9, 2, 4, 6, 8, 10}},
    };
    for (const auto& [text, indexes] : cases) {
        const auto set = IndexSet::parse(text);
        ASSERT_TRUE(set) << text << ": " << set.error().message;
        EXPECT_EQ(all_of(*set), indexes) << text;
    }
}

TEST(IndexSet, MemoryDoesNotGrowWithTheIndexes) {
    const auto set = IndexSet::parse("1-4611686018427387904");
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(set->count(), std::uint64_t{1} << 62);
    EXPECT_EQ(set->ranges().size(), 1U);
    EXPECT_EQ(set->at(set->count() - 1), std::uint64_t{1} << 62);
}

TEST(IndexSet, RefusesInOneLine) {
    const std::string grammar =
        " is not a range of indexes up to 2^62; write 7, 10-20 or 1-100:5, separated by commas";
    const std::pair<const char*, std::string> cases[] = {
        {"", "''" + grammar},
        {"1,", "''" + grammar},
        {",1", "''" + grammar},
        {"a", "'a'" + grammar},
        {"-1", "'-1'" + grammar},
        {"1-", "'1-'" + grammar},
        {"1--2", "'1--2'" + grammar},
        {"1-2:", "'1-2:'" + grammar},
        {"1:2", "'1:2'" + grammar},
        {"1-2-3", "'1-2-3'" + grammar},
        {" 1", "' 1'" + grammar},
        {"1-2 ", "'1-2 '" + grammar},
        {"+1", "'+1'" + grammar},
        {"1-10%4", "'1-10%4'" + grammar + " (and no %LIMIT)"},
        {"4611686018427387905", "'4611686018427387905'" + grammar},
        {"99999999999999999999", "'99999999999999999999'" + grammar},
        {"5-3", "in '5-3' the first index is above the last; write the lower first"},
        {"1-3:0", "the step of '1-3:0' is 0; use at least 1"},
        {"0-4611686018427387904", "more than 2^62 indexes in all; use fewer"},
        {"3,3", "index 3 is given twice; remove it from one range"},
        {"1-10,5", "index 5 is given twice; remove it from one range"},
        {"1-1000000000:3,2-1000000000:7", "index 16 is given twice; remove it from one range"},
        {"100-1:1,1", "in '100-1:1' the first index is above the last; write the lower first"},
    };
    for (const auto& [text, message] : cases) {
        const auto set = IndexSet::parse(text);
        ASSERT_FALSE(set) << text;
        EXPECT_EQ(set.error().code, wq::ExitCode::usage);
        EXPECT_EQ(set.error().message, "--array: " + message);
    }
}

TEST(IndexSet, DisjointRangesOfLargeCoprimeStepsAreTaken) {
    // Three indexes each, with steps 2^61 - 1 and 2^61 - 2: their first common element is far above 2^62.
    EXPECT_TRUE(IndexSet::parse(
        "0-4611686018427387904:2305843009213693951,3-4611686018427387904:2305843009213693950"));
    EXPECT_FALSE(IndexSet::parse("0-4611686018427387904:2,1-4611686018427387904:4611686018427387899"));
}

IndexRange random_range(std::mt19937_64& random, std::uint64_t span) {
    const std::uint64_t first = random() % span;
    const std::uint64_t step = 1 + random() % 12;
    const std::uint64_t count = 1 + random() % 12;
    return {first, first + (count - 1) * step, step};
}

TEST(Progressions, AgreeWithEnumeration) {
    std::mt19937_64 random(9);
    std::size_t meetings = 0;
    for (int round = 0; round < 50000; ++round) {
        const IndexRange a = random_range(random, 60);
        const IndexRange b = random_range(random, 60);
        std::optional<std::uint64_t> expected;
        for (std::uint64_t x = a.first; x <= a.last && !expected; x += a.step) {
            if (x >= b.first && x <= b.last && (x - b.first) % b.step == 0) expected = x;
        }
        meetings += expected ? 1 : 0;
        ASSERT_EQ(first_common(a, b), expected)
            << a.first << "-" << a.last << ":" << a.step << " " << b.first << "-" << b.last << ":" << b.step;
        ASSERT_EQ(first_common(b, a), expected);
    }
    EXPECT_GT(meetings, 5000U);
}

TEST(Progressions, HugeOnesMeetWhereTheyAreMadeTo) {
    std::mt19937_64 random(10);
    for (int round = 0; round < 20000; ++round) {
        // Both contain `place`: a common index up to it must be found, and be in both.
        const std::uint64_t place = random() >> 2;
        const auto through = [&] {
            const std::uint64_t step = 1 + (random() >> (3 + random() % 60));
            const std::uint64_t before = place / step == 0 ? 0 : random() % (place / step + 1);
            const std::uint64_t first = place - before * step;
            return IndexRange{first, place + random() % 3 * (step < place ? step : 0), step};
        };
        const IndexRange a = through();
        const IndexRange b = through();
        const auto found = first_common(a, b);
        ASSERT_TRUE(found.has_value());
        ASSERT_LE(*found, place);
        for (const IndexRange& range : {a, b}) {
            ASSERT_TRUE(*found >= range.first && *found <= range.last &&
                        (*found - range.first) % range.step == 0);
        }
    }
}

TEST(IndexSet, ManyRangesAgreeWithEnumeration) {
    std::mt19937_64 random(12);
    std::size_t taken = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        std::vector<std::uint64_t> expected;
        for (std::uint64_t left = 1 + random() % 5; left > 0; --left) {
            const IndexRange range = random_range(random, 400);
            text += (text.empty() ? "" : ",") + std::to_string(range.first) + "-" +
                    std::to_string(range.last) + ":" + std::to_string(range.step);
            for (std::uint64_t x = range.first; x <= range.last; x += range.step) expected.push_back(x);
        }
        const bool unique = std::set(expected.begin(), expected.end()).size() == expected.size();
        const auto set = IndexSet::parse(text);
        ASSERT_EQ(set.ok(), unique) << text;
        if (!unique) continue;
        ++taken;
        ASSERT_EQ(all_of(*set), expected) << text;
    }
    EXPECT_GT(taken, 500U);
}

}  // namespace
