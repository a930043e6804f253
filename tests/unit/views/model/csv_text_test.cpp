#include "views/model/csv_text.h"

#include <gtest/gtest.h>

namespace wq::views::model {
namespace {

std::string csv_text(std::string_view text) {
    std::string row;
    put_csv_text(row, text);
    return row;
}

TEST(CsvText, QuotesAsTheStandardSays) {
    EXPECT_EQ(csv_text("plain text"), "plain text");
    EXPECT_EQ(csv_text("a,b"), "\"a,b\"");
    EXPECT_EQ(csv_text("say \"no\""), "\"say \"\"no\"\"\"");
    EXPECT_EQ(csv_text("a\nb\x1b"), "a\\x0ab\\x1b");
    EXPECT_EQ(csv_text(""), "");
}

TEST(CsvText, IsNoFormula) {
    EXPECT_EQ(csv_text("=cmd|'/C calc'!A0"), "'=cmd|'/C calc'!A0");
    EXPECT_EQ(csv_text("+a"), "'+a");
    EXPECT_EQ(csv_text("-a1"), "'-a1");
    EXPECT_EQ(csv_text(" @sum(a1)"), "' @sum(a1)");
    EXPECT_EQ(csv_text("'=a1"), "''=a1");
    EXPECT_EQ(csv_text("-"), "-") << "not known, in the tables of the full screen";
    EXPECT_EQ(csv_text("-1.5"), "-1.5");
}

}  // namespace
}  // namespace wq::views::model
