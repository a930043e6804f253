#include "base/next_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wq {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) lines.emplace_back(next_line(text));
    return lines;
}

TEST(NextLine, TakesLinesWithoutTheirNewlines) {
    EXPECT_EQ(lines_of("a\nb\n"), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(lines_of("a\nb"), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(lines_of("\n\na\r\n"), (std::vector<std::string>{"", "", "a\r"}));
    EXPECT_TRUE(lines_of("").empty());
}

TEST(NextLine, TakesAnEmptyLineFromAnEmptyText) {
    std::string_view none;
    EXPECT_EQ(next_line(none), "");
    EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace wq
