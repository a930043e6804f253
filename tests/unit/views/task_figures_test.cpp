#include "views/run_figures.h"

#include <gmock/gmock.h>

#include "views/plot_script.h"

namespace wq::views {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t a_second = 1'000'000;

records::hdf5::WorkerRow worker(std::uint32_t id, const char* host, std::int64_t joined, std::int64_t left) {
    records::hdf5::WorkerRow row;
    row.worker = id;
    row.host = records::hdf5::FixedText<64>(std::string(host));
    row.cores = 2;
    row.joined = joined * a_second;
    row.left = left * a_second;
    return row;
}

records::hdf5::TaskRow task(std::uint32_t worker, std::int64_t started, std::int64_t seconds,
                            int exit_code = 0) {
    records::hdf5::TaskRow row;
    row.worker = worker;
    row.started = started * a_second;
    row.received = (started + seconds) * a_second;
    row.wall = seconds * a_second;
    row.user = row.wall / 2;
    row.given_cores = 1;
    row.given_memory = 100;
    row.peak_memory = seconds * 1024;
    row.memory_peak = -1;
    row.exit_code = exit_code;
    return row;
}

const Figure& find(const std::vector<Figure>& figures, std::string_view name) {
    for (const Figure& figure : figures)
        if (figure.name == name) return figure;
    ADD_FAILURE() << name;
    return figures.front();
}

std::vector<double> heights(const Bars& bars) {
    std::vector<double> heights;
    for (const Bars::Bar& bar : bars.bars) heights.push_back(bar.high - bar.low);
    return heights;
}

// Worker 1 of the second run of the directory is another one. The first run was killed after its sample at 10
// s.
TEST(TaskFigures, ShowRunTimesNodesAndMemory) {
    records::hdf5::ManagerRow sample;
    sample.timestamp = 10 * a_second;
    TaskFigures of(WorkerRows({worker(1, "a", 0, 0), worker(2, "b", 2, 12), worker(1, "b", 100, 110)},
                              std::vector{sample}),
                   {});
    of.add(task(1, 1, 4));
    of.add(task(1, 5, 4, 1));
    of.add(task(2, 2, 8));
    of.add(task(1, 101, 8));
    records::hdf5::TaskRow never;
    of.add(never);
    const std::vector<Figure> figures = of.figures();
    const Figure& times = find(figures, "durations");
    ASSERT_EQ(times.bars.size(), 2U);
    EXPECT_THAT(heights(times.bars[0]), ElementsAre(1, 2)) << "4 s, and 8 s twice";
    EXPECT_THAT(heights(times.bars[1]), ElementsAre(1)) << "on top of the first";
    EXPECT_EQ(times.bars[1].bars[0].low, 1);
    const Figure& nodes = find(figures, "nodes");
    EXPECT_THAT(nodes.ticks, ElementsAre("a", "b"));
    EXPECT_THAT(heights(nodes.bars[0]),
                ElementsAre(::testing::DoubleNear(40, 0.1), ::testing::DoubleNear(40, 0.1)));
    EXPECT_THAT(heights(nodes.bars[1]),
                ElementsAre(::testing::DoubleNear(20, 0.1), ::testing::DoubleNear(20, 0.1)));
    const Figure& memory = find(figures, "memory");
    EXPECT_THAT(memory.x, ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(memory.curves[1].values, ElementsAre(4, 4, 8, 8));
    Plots plots;
    plots.figures = figures;
    const std::string script = plot_script({"p", PlotFormat::png, "", {}, true}, plots);
    EXPECT_THAT(script, HasSubstr("set xtics noenhanced rotate by -40 ('a' 0, 'b' 1)\n"));
    EXPECT_THAT(plot_paths({"p", PlotFormat::png, "", {}, true}, plots),
                ElementsAre("p.durations.png", "p.nodes.png", "p.memory.png"));
}

TEST(TaskFigures, ShowRunTimesByCategory) {
    std::vector<records::hdf5::CategoryRow> rows(2);
    rows[1].category = 1;
    rows[1].name = records::hdf5::FixedText<64>(std::string("long"));
    TaskFigures of(WorkerRows({worker(1, "a", 0, 100)}, {}), rows);
    of.add(task(1, 1, 4));
    EXPECT_EQ(of.figures().size(), 3U) << "one category has the same run times as all";
    for (std::uint32_t category = 1; category < 10; ++category) {
        records::hdf5::TaskRow row = task(1, 5, category == 1 ? 9 : 4);
        row.category = category;
        of.add(row);
        if (category == 1) of.add(row);
    }
    const Figure figure = find(of.figures(), "categories");
    ASSERT_EQ(figure.bars.size(), 7U);
    EXPECT_EQ(figure.bars[0].title, "long") << "the largest";
    EXPECT_THAT(heights(figure.bars[0]), ElementsAre(2));
    EXPECT_EQ(figure.bars[6].title, "4 others");
    EXPECT_THAT(heights(figure.bars[6]), ElementsAre(4));
    EXPECT_EQ(figure.bars[6].bars[0].low, 5) << "on top";
}

TEST(TaskFigures, OfManyNodesShowSome) {
    std::vector<records::hdf5::WorkerRow> workers;
    for (std::uint32_t id = 0; id < 1000; ++id)
        workers.push_back(worker(id, std::to_string(id).c_str(), 0, 100));
    TaskFigures of(WorkerRows(workers, {}), {});
    of.add(task(7, 1, 99));
    const Figure nodes = find(of.figures(), "nodes");
    EXPECT_EQ(nodes.ticks.size(), 40U);
    EXPECT_EQ(nodes.ticks.front(), "7");
    EXPECT_EQ(nodes.x_label, "40 of 1000 nodes, from the busiest to the least busy");
}

}  // namespace
}  // namespace wq::views
