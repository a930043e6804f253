#include "work_queue/read_ahead.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <vector>

namespace wq {
namespace {

using ::testing::ElementsAre;

std::vector<int> rest_of(ReadAhead<int>& ahead) {
    std::vector<int> all;
    for (int element = 0; ahead.next(element);) all.push_back(element);
    return all;
}

TEST(ReadAhead, GivesAllAndReadsAgain) {
    int read = 0;
    ReadAhead<int> ahead(2, [&](int& element) { return (element = ++read) % 5 != 0; });
    EXPECT_THAT(rest_of(ahead), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(rest_of(ahead), ElementsAre());
    ahead.restart();
    EXPECT_THAT(rest_of(ahead), ElementsAre(6, 7, 8, 9));
}

// A consumer that tries again must not take the error for the end.
TEST(ReadAhead, ThrowsWhatReadingThrewEachTimeAfterTheElementsBefore) {
    int read = 0;
    ReadAhead<int> ahead(9, [&](int& element) {
        if ((element = ++read) == 3) throw std::runtime_error("third");
        return true;
    });
    ahead.start();
    int element = 0;
    EXPECT_TRUE(ahead.next(element) && ahead.next(element));
    EXPECT_THROW(ahead.next(element), std::runtime_error);
    EXPECT_THROW(ahead.next(element), std::runtime_error);
    EXPECT_EQ(element, 2);
}

TEST(ReadAhead, ReturnsWhatNobodyConsumed) {
    int read = 0;
    ReadAhead<int> ahead(3, [&](int& element) { return (element = ++read) < 4; });
    int element = 0;
    ASSERT_TRUE(ahead.next(element));
    const std::deque<int> left = ahead.end();
    EXPECT_LE(left.size(), 3U);
    for (const int each : left) EXPECT_EQ(each, ++element);
    EXPECT_FALSE(ahead.next(element));
}

}  // namespace
}  // namespace wq
