#include "base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace wq {
namespace {

TEST(NextLine, TakesLinesWithoutTheirNewlines) {
    std::string_view rest = "a\n\nb\r\nc";
    for (const std::string line : {"a", "", "b\r", "c", ""}) EXPECT_EQ(next_line(rest), line);
    EXPECT_TRUE(rest.empty());
    rest = "a\n";
    EXPECT_EQ(next_line(rest), "a");
    EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace wq
