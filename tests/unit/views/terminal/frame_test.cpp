#include "views/terminal/frame.h"

#include <gmock/gmock.h>

namespace wq::views::terminal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string shown(std::string_view text, int columns = 10, Glyphs glyphs = Glyphs::utf8) {
    Frame frame({columns, 1}, glyphs);
    frame.put(0, 0, text);
    return frame.plain();
}

TEST(Frame, TextsAreClippedToTheirColumns) {
    Frame frame({6, 2}, Glyphs::utf8);
    EXPECT_EQ(frame.put(0, 1, "abcdefgh"), 6);
    EXPECT_EQ(frame.put(1, 1, "abcdefgh", {}, 3), 4);
    frame.put(2, 0, "below");
    frame.put(-1, 0, "above");
    EXPECT_EQ(frame.plain(), " abcde\n abc\n");
}

TEST(Frame, TextsAtTheRightKeepTheirBeginning) {
    Frame frame({8, 2}, Glyphs::utf8);
    frame.put_right(0, 1, "12", 5);
    frame.put_right(1, 1, "1234567", 5);
    EXPECT_EQ(frame.plain(), "    12\n 12345\n");
}

TEST(Frame, WideCharactersKeepColumns) {
    EXPECT_EQ(columns_of("日本", Glyphs::utf8), 4);
    Frame frame({7, 1}, Glyphs::utf8);
    EXPECT_EQ(frame.put(0, 0, "日本語名"), 6);  // the fourth does not fit
    EXPECT_EQ(frame.plain(), "日本語\n");
    frame.put(0, 1, "x");  // on the second half of the first
    EXPECT_EQ(frame.plain(), " x本語\n");
    frame.put(0, 2, "y");  // on the first half of the second
    EXPECT_EQ(frame.plain(), " xy 語\n");
    EXPECT_EQ(shown("日x", 10, Glyphs::ascii), "??x\n");
}

TEST(Frame, CombiningCharactersStayWithTheirCharacter) {
    EXPECT_EQ(shown("e\u0301x"), "e\u0301x\n");
    EXPECT_EQ(columns_of("e\u0301x", Glyphs::utf8), 2);
    EXPECT_EQ(shown("\u0301x"), "x\n");  // there is none before it
    std::string many = "e";
    for (int n = 0; n < 1000; ++n) many += "\u0301";
    EXPECT_LT(shown(many).size(), 30u);
}

TEST(Frame, NothingOfATextMovesTheCursor) {
    EXPECT_EQ(shown("\x1b[2Jx"), "?[2Jx\n");
    EXPECT_EQ(shown("a\tb\nc\rd"), "a b c d\n");
    EXPECT_EQ(shown("a\x01\x7f\x08z"), "a???z\n");
    EXPECT_EQ(shown("a\xc2\x9b"
                    "2Jz"),
              "a?2Jz\n");  // U+009B is an escape sequence of its own
    EXPECT_EQ(shown("a\u202ez\u2066\ufeff\u200b"), "a?z???\n");
    EXPECT_EQ(shown(std::string_view("a\0z", 3)), "a?z\n");
}

TEST(Frame, WhatIsNoUtf8IsReplaced) {
    EXPECT_EQ(shown("a\xff\xfez"), "a??z\n");
    EXPECT_EQ(shown("a\xe6\x97"), "a??\n");          // cut
    EXPECT_EQ(shown("\xc0\xaf"), "??\n");            // "/" in two bytes
    EXPECT_EQ(shown("\xed\xa0\x80"), "???\n");       // half of a pair
    EXPECT_EQ(shown("\xf5\x80\x80\x80"), "????\n");  // beyond Unicode
    EXPECT_EQ(shown("é", 10, Glyphs::ascii), "?\n");
}

TEST(Frame, RunsHaveOneStyle) {
    Frame frame({6, 1}, Glyphs::utf8);
    frame.put(0, 0, "ab");
    frame.put(0, 2, "日", {Colour::bad});
    const auto runs = frame.runs(0);
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[1].text, "日");
    EXPECT_EQ(runs[1].column, 2);
    EXPECT_EQ(runs[2].column, 4);
}

TEST(Frame, BarsGrowByParts) {
    EXPECT_EQ(bar(0, 4, Glyphs::utf8), "");
    EXPECT_EQ(bar(0.5, 4, Glyphs::utf8), "██");
    EXPECT_EQ(bar(0.0001, 4, Glyphs::utf8), "▏");
    EXPECT_EQ(bar(1, 4, Glyphs::ascii), "####");
    EXPECT_EQ(bar(7, 4, Glyphs::ascii), "####");
    EXPECT_THAT((std::vector<std::string>{level_glyph(0, Glyphs::utf8), level_glyph(0.01, Glyphs::utf8),
                                          level_glyph(1, Glyphs::utf8), level_glyph(1, Glyphs::ascii)}),
                ElementsAre(".", "▁", "█", "9"));
}

}  // namespace
}  // namespace wq::views::terminal
