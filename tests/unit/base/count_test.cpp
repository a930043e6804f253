#include "base/units.h"

#include <gmock/gmock.h>

namespace wq {
namespace {

using ::testing::HasSubstr;

TEST(Count, IsExact) {
    Count sum;
    for (int i = 0; i < 10; ++i) sum += Count::of_thousandths(100);
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(3 * Count::of_thousandths(333), Count::of_thousandths(999));
    EXPECT_EQ(Count(2) - Count::of_thousandths(500), Count::of_thousandths(1500));
    EXPECT_EQ(Count::of_thousandths(1500).rounded_down(), 1);
    EXPECT_EQ(Count::of_thousandths(1500).rounded_up(), 2);
    EXPECT_TRUE(Count(7).is_whole());
    EXPECT_EQ(Count(INT64_MAX), Count(Count::most));
    EXPECT_EQ(Count(INT64_MIN), Count(-Count::most));
}

TEST(Count, IsReadAndWritten) {
    for (const auto& [text, thousandths] :
         {std::pair{"2", 2000}, {"0.5", 500}, {".25", 250}, {"0", 0}, {"1.125", 1125}}) {
        const auto count = parse_count_with_fraction(text, 0, 8);
        ASSERT_TRUE(count) << text;
        EXPECT_EQ(count->thousandths(), thousandths) << text;
    }
    for (const char* text : {"", ".", "1.", "-1", "+1", "1.0005", "9", "8.001", "lots", "1e3", "0x1", " 1",
                             "99999999999999999999"}) {
        const auto count = parse_count_with_fraction(text, 0, 8);
        ASSERT_FALSE(count) << text;
        EXPECT_THAT(count.error().message, HasSubstr("from 0 to 8"));
    }
    for (const auto& [thousandths, text] : {std::pair{2000, "2"},
                                            {500, "0.5"},
                                            {1250, "1.25"},
                                            {1, "0.001"},
                                            {0, "0"},
                                            {-1000, "-1"},
                                            {-500, "-0.5"}})
        EXPECT_EQ(format_count_with_fraction(Count::of_thousandths(thousandths)), text);
}

}  // namespace
}  // namespace wq
