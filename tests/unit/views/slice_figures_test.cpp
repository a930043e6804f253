#include "views/run_figures.h"

#include <gmock/gmock.h>

namespace wq::views {
namespace {

using ::testing::ElementsAre;

records::hdf5::SliceQueueRow sample(std::int64_t second, std::uint64_t left, std::uint64_t committed) {
    records::hdf5::SliceQueueRow row;
    row.time_when_started = 1'000'000;
    row.timestamp = (1 + second) * 1'000'000;
    row.positions = 10;
    row.left = left;
    row.committed = committed;
    row.ranks = 2;
    return row;
}

const Figure& figure(const Plots& plots, const std::string& name) {
    for (const Figure& each : plots.figures)
        if (each.name == name) return each;
    ADD_FAILURE() << name;
    return plots.figures.front();
}

const Curve& curve(const Figure& figure, const std::string& title) {
    for (const Curve& each : figure.curves)
        if (each.title == title) return each;
    ADD_FAILURE() << title;
    return figure.curves.front();
}

TEST(SliceFigures, ShowWhereEachSliceIs) {
    const std::vector samples{sample(0, 10, 0), sample(1, 4, 2), sample(2, 0, 10)};
    const std::vector<records::hdf5::SliceRankRow> ranks{
        {2'000'000, 4, 0, 1}, {2'000'000, 2, 3, 1}, {3'000'000, 7, 0, 1}, {3'000'000, 3, 3, 0}};
    const Plots plots = make_slice_plots(samples, ranks, std::nullopt, std::nullopt);
    EXPECT_THAT(plots.x, ElementsAre(0, 1, 2));
    EXPECT_THAT(curve(figure(plots, "slices"), "left to give").values, ElementsAre(10, 4, 0));
    EXPECT_THAT(curve(figure(plots, "slices"), "given, not committed").values, ElementsAre(0, 4, 0));
    EXPECT_THAT(curve(figure(plots, "slices"), "committed").values, ElementsAre(0, 2, 10));
    EXPECT_THAT(curve(figure(plots, "ranks"), "rank 0").values, ElementsAre(0, 4, 7));
    EXPECT_THAT(curve(figure(plots, "ranks"), "rank 3").values, ElementsAre(0, 2, 3));
    EXPECT_EQ(figure(plots, "waiting").curves.size(), 1U) << "what is always 0 is not drawn";
}

TEST(SliceFigures, OfManyRanksShowTheFastestTheMedianAndTheSlowest) {
    std::vector<records::hdf5::SliceRankRow> ranks;
    for (std::uint32_t rank = 0; rank < 101; ++rank)
        ranks.push_back({2'000'000, 1000 - rank, rank, rank > 0});
    const std::vector samples{sample(1, 4, 2)};
    const Plots plots = make_slice_plots(samples, ranks, TimeUnit::seconds, std::nullopt);
    const Figure& shown = figure(plots, "ranks");
    EXPECT_EQ(shown.curves.size(), 3U);
    EXPECT_THAT(curve(shown, "fastest").values, ElementsAre(999)) << "rank 0 has left";
    EXPECT_THAT(curve(shown, "slowest").values, ElementsAre(900));
    EXPECT_NEAR(curve(shown, "median").values[0], 950, 1);
}

TEST(SliceFigures, OfNoSamplesAreNone) {
    EXPECT_TRUE(make_slice_plots({}, {}, std::nullopt, std::nullopt).figures.empty());
}

}  // namespace
}  // namespace wq::views
