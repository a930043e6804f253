#include "views/web/attempts_page.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "unit/views/attempts_testing.h"
#include "unit/views/web/number_column.h"

namespace wq::views::web {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The numbers of a column, as a browser decodes them.
std::vector<std::int64_t> column(const std::string& page, const std::string& name) {
    const std::string key = "\"" + name + "\":\"";
    const auto begin = page.find(key) + key.size();
    const std::string text = page.substr(begin, page.find('"', begin) - begin);
    return numbers_in(text);
}

TEST(AttemptsPage, HasTheRows) {
    const std::string page = attempts_page(some_attempts(), "run", RowOrder::slots);
    EXPECT_THAT(page, HasSubstr("\"tick\":1,\"end\":8500000,\"order\":\"t\""));
    EXPECT_THAT(page, HasSubstr("\"names\":[\"\\u003cb\\u003e\",\"a:1\"]")) << "by joining";
    EXPECT_THAT(page, HasSubstr(R"("a\"b\\c\u000a")"));
    EXPECT_THAT(page, HasSubstr("\"count\":4,"));
    EXPECT_THAT(column(page, "task"), ElementsAre(9, 7, 8, 300));
    EXPECT_THAT(column(page, "calls"), ElementsAre(0, 0, 0, 19));
    EXPECT_THAT(column(page, "category"), ElementsAre(0, 0, 1, 0));
    EXPECT_THAT(column(page, "worker"), ElementsAre(0, 1, 1, 1));
    EXPECT_THAT(column(page, "slot"), ElementsAre(0, 0, 1, 0));
    EXPECT_THAT(column(page, "input"), ElementsAre(1'100'000, 1'500'000, 2'500'000, 4'000'000));
    EXPECT_THAT(column(page, "waited"), ElementsAre(100'000, 500'000, 1'500'000, 0));
    EXPECT_THAT(column(page, "sending"), ElementsAre(0, 250'000, 0, 0));
    EXPECT_THAT(column(page, "ran"), ElementsAre(6'400'000, 1'750'000, 2'000'000, 1'500'000));
    EXPECT_THAT(column(page, "receiving"), ElementsAre(0, 100'000, 0, 0));
    EXPECT_THAT(column(page, "joined"), ElementsAre(0, 500'000));
    EXPECT_THAT(column(page, "left"), ElementsAre(8'500'000, 8'500'000)) << "the end of the log";
    EXPECT_THAT(column(page, "slots"), ElementsAre(1, 2));
    EXPECT_THAT(page, HasSubstr("4 attempts, "));
    EXPECT_THAT(page, HasSubstr("only the 1 that did not succeed"));
    EXPECT_THAT(page, HasSubstr("3 tasks never ran; 2 workers"));
}

TEST(AttemptsPage, RunsNothingOfALogAndRefersToNothing) {
    std::string page = attempts_page(some_attempts(), "<img src=x onerror=alert(2)>", RowOrder::attempts);
    EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("<b>\"")));
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    for (const std::string_view outside : {"http://", "https://", "src=", "@import", "url("})
        EXPECT_THAT(page.substr(page.find("</h1>")), Not(HasSubstr(outside)));
}

TEST(AttemptsPage, OfALongRunHasTimesOfEightDigits) {
    Attempts all = some_attempts();
    all.attempts[0].ended = 500 * 3'600'000'000;
    finish(all);
    const std::string page = attempts_page(all, "run", RowOrder::attempts);
    EXPECT_THAT(page, HasSubstr("\"tick\":100000,"));
    EXPECT_THAT(column(page, "waited"), ElementsAre(1, 5, 15, 0));
}

}  // namespace
}  // namespace wq::views::web
