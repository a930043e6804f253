#include "views/attempts_figure.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "unit/views/attempts_testing.h"

namespace wq::views {
namespace {

using ::testing::ElementsAre;

TEST(AttemptsFigure, HasColorsForAnyNumberOfCategories) {
    std::vector<std::string> colors;
    for (std::size_t i = 0; i < 18; ++i) colors.push_back(category_color(i));
    std::sort(colors.begin(), colors.end());
    EXPECT_EQ(std::unique(colors.begin(), colors.end()), colors.end());
    EXPECT_EQ(category_color(18), category_color(0));
    EXPECT_EQ(category_color(1), "#e69f00");
}

std::vector<double> rights(const Bars& bars) {
    std::vector<double> rights;
    for (const Bars::Bar& bar : bars.bars) rights.push_back(bar.right);
    return rights;
}

TEST(AttemptsFigure, HasTheThreeOrders) {
    const Attempts all = some_attempts();
    const Figure attempts = attempts_figure(all, RowOrder::attempts, all.begin, {}, {});
    ASSERT_EQ(attempts.bars.size(), 2U);
    EXPECT_THAT(rights(attempts.bars[0]), ElementsAre(7.5, 3.6, 5.5));
    EXPECT_THAT(rights(attempts.bars[1]), ElementsAre(4.5));
    EXPECT_EQ(attempts.bars[1].bars[0].low, 2.1) << "the third row";
    const Figure slots = attempts_figure(all, RowOrder::slots, all.begin, {}, {});
    EXPECT_THAT(slots.row_names, ElementsAre("<b>", "a:1", ""));
    EXPECT_EQ(slots.bars.size(), 3U) << "connected, and two categories";
    const Figure workers = attempts_figure(all, RowOrder::workers, all.begin, {}, {});
    EXPECT_THAT(workers.row_names, ElementsAre("<b>", "a:1"));
    EXPECT_THAT(rights(workers.bars[1]), ElementsAre(7.5, 5.5)) << "what overlaps is one";
    const Figure part =
        attempts_figure(all, RowOrder::workers, all.begin, TimeUnit::seconds, PlotRange{6, 8});
    EXPECT_THAT(rights(part.bars[1]), ElementsAre(7.5));
}

TEST(AttemptsFigure, OfManyRowsHasAsManyAsThePictureHasLines) {
    Attempts all;
    all.categories = {"a", "b"};
    all.outcomes = {std::string(succeeded)};
    all.workers = {{"a:1", 0, 0, 0}};
    for (std::int64_t i = 0; i < 100'000; ++i)
        all.attempts.push_back({static_cast<std::uint64_t>(i), 1, static_cast<std::uint32_t>(i % 2), 0, 0, 0,
                                i, i, i, i + 1000, i + 1000});
    finish(all);
    for (const RowOrder order : {RowOrder::attempts, RowOrder::slots, RowOrder::workers}) {
        const Figure figure = attempts_figure(all, order, all.begin, {}, {});
        std::size_t count = 0;
        for (const Bars& bars : figure.bars) count += bars.bars.size();
        EXPECT_LE(count, 500'000U);
        EXPECT_GE(count, order == RowOrder::workers ? 1U : 1000U);
    }
}

}  // namespace
}  // namespace wq::views
