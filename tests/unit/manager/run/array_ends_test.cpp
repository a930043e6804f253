#include "manager/run/source.h"

#include <gtest/gtest.h>

#include <random>

namespace wq::manager::run {
namespace {

using End = EarlierRun::End;

engine::tasklist::IndexSet set_of(const std::string& text) {
    return engine::tasklist::IndexSet::parse(text).or_throw();
}

// Against a look at every item, for arrays of all kinds of parts.
TEST(ArrayEnds, FindsWhatALookAtEveryItemFinds) {
    std::mt19937_64 random(7);
    for (const char* text :
         {"1-200", "1-200:7", "2-200:2,1-199:2", "150-190,3,5-80:5", "1-199:3,2-200:3,3-198:3"}) {
        for (const double density : {0.0, 0.02, 0.5, 1.0}) {
            SCOPED_TRACE(std::string(text) + " at " + std::to_string(density));
            EarlierRun earlier;
            for (std::uint64_t index = 0; index < 250; ++index)
                if (std::bernoulli_distribution(density)(random))
                    earlier.ends[index] = random() % 4 == 0 ? End::failed : End::done;
            const engine::tasklist::IndexSet indexes = set_of(text);
            IntervalSet done;
            IntervalSet failed;
            for (std::uint64_t item = 0; item < indexes.count(); ++item) {
                const auto end = earlier.ends.find(indexes.at(item));
                if (end != earlier.ends.end()) (end->second == End::done ? done : failed).insert(1000 + item);
            }
            ArrayEnds ends(earlier);
            ends.find(indexes, TaskId(1000));
            EXPECT_TRUE(ends.done() == done);
            EXPECT_TRUE(ends.failed() == failed);
        }
    }
}

TEST(ArrayEnds, LooksOnceAtEachEndHoweverManyPartsThereAre) {
    EarlierRun earlier;
    std::string text;
    for (std::uint64_t part = 0; part < 10'000; ++part) {
        const std::uint64_t first = part * 100;
        text += (text.empty() ? "" : ",") + std::to_string(first) + "-" + std::to_string(first + 49);
        for (std::uint64_t index = first; index < first + 10; ++index) earlier.ends[index] = End::done;
    }
    ArrayEnds ends(earlier);
    ends.find(set_of(text), TaskId(0));
    EXPECT_EQ(ends.done().count(), earlier.ends.size());
    EXPECT_EQ(ends.looks(), earlier.ends.size());
}

TEST(ArrayEnds, LooksAtNoMoreThanTheItemsOfPartsThatSpanEverything) {
    EarlierRun earlier;
    for (std::uint64_t index = 0; index < 10'000; ++index) earlier.ends[index] = End::done;
    std::string text;
    for (std::uint64_t residue = 0; residue < 1000; ++residue)
        text += (residue > 0 ? "," : "") + std::to_string(residue) + "-" + std::to_string(9000 + residue) +
                ":1000";
    ArrayEnds ends(earlier);
    ends.find(set_of(text), TaskId(0));
    EXPECT_EQ(ends.done().count(), 10'000U);
    EXPECT_LE(ends.looks(), 10'000U);
}

}  // namespace
}  // namespace wq::manager::run
