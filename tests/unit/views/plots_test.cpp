#include <gmock/gmock.h>

#include "records/hdf5/stats_log.h"
#include "unit/records/journal/records_testing.h"
#include "views/plot_script.h"

namespace wq::views {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<records::hdf5::ManagerRow> rows_every(std::int64_t step_us, std::int64_t count) {
    std::vector<records::hdf5::ManagerRow> rows;
    for (std::int64_t i = 0; i < count; ++i) {
        records::hdf5::ManagerRow row;
        row.time_when_started = 1'700'000'000'000'000;
        row.timestamp = row.time_when_started + i * step_us;
        row.tasks_waiting = count - 1 - i;
        row.tasks_done = i;
        row.workers_connected = row.workers_busy = 2;
        row.total_cores = 4;
        row.committed_cores = 3;
        row.time_polling = i * step_us / 2;
        row.bytes_received = i * 5000;
        rows.push_back(row);
    }
    return rows;
}

std::vector<std::string> titles(const Figure& figure) {
    std::vector<std::string> titles;
    for (const Curve& curve : figure.curves) titles.push_back(curve.title);
    return titles;
}

TEST(Plots, AResumedRunGoesOnWhereTheEarlierOneEnded) {
    std::vector<records::hdf5::ManagerRow> rows = rows_every(1'000'000, 3);
    for (records::hdf5::ManagerRow row : rows_every(1'000'000, 3)) {
        row.time_when_started += 10'000'000;
        row.timestamp += 10'000'000;
        rows.push_back(row);
    }
    const Plots plots = make_plots(rows, TimeUnit::seconds, {});
    const auto values = [&](std::string_view figure, std::string_view title) {
        for (const Figure& one : plots.figures)
            for (const Curve& curve : one.curves)
                if (one.name == figure && curve.title == title) return curve.values;
        return std::vector<double>{};
    };
    const auto pause = ::testing::IsNan();
    EXPECT_THAT(plots.x, ElementsAre(0, 1, 2, pause, 10, 11, 12));
    EXPECT_THAT(values("workers", "connected"), ElementsAre(2, 2, 2, pause, 2, 2, 2));
    EXPECT_THAT(values("tasks", "waiting"), ElementsAre(2, 1, 0, pause, 2, 1, 0));
    EXPECT_THAT(values("time", "manager: waiting"), ElementsAre(0, 500, 1000, pause, 1000, 1500, 2000));
    EXPECT_THAT(values("tasks", "ended"), ElementsAre(0, 1, 2, pause, 0, 1, 2)) << "the journal counts these";
    // An empty line ends a line of gnuplot.
    const std::string script = plot_script({"p", PlotFormat::png, "", {}, true}, plots);
    EXPECT_THAT(script, HasSubstr("\n2 0 2\n\n10 2 0\n"));
    EXPECT_THAT(script, HasSubstr("$workers_log1 << EOD\n0 2\n1 2\n1 2\n2 2\n2 2\n\n10 2\n"));
    EXPECT_THAT(script, Not(HasSubstr("nan")));
}

TEST(Plots, ChooseTheUnitByTheLengthOfTheRun) {
    EXPECT_EQ(make_plots(rows_every(200'000, 11), {}, {}).unit, TimeUnit::seconds);
    EXPECT_EQ(make_plots(rows_every(1'000'000, 601), {}, {}).unit, TimeUnit::minutes);
    EXPECT_EQ(make_plots(rows_every(3'600'000'000, 13), {}, {}).unit, TimeUnit::hours);
    EXPECT_EQ(make_plots(rows_every(3'600'000'000, 96), {}, {}).unit, TimeUnit::days);
    EXPECT_EQ(make_plots(rows_every(3'600'000'000, 96), TimeUnit::minutes, {}).x.back(), 95.0 * 60);
}

TEST(Plots, LeaveOutWhatIsZeroThroughout) {
    const Plots plots = make_plots(rows_every(1'000'000, 5), {}, {});
    ASSERT_EQ(plots.figures.size(), 5u);
    EXPECT_THAT(titles(plots.figures[0]), ElementsAre("waiting", "ended"));
    EXPECT_THAT(titles(plots.figures[1]), ElementsAre("connected", "busy"));
    EXPECT_THAT(titles(plots.figures[2]), ElementsAre("all workers", "allocated to tasks"));
    EXPECT_THAT(titles(plots.figures[3]), ElementsAre("manager: waiting"));
    EXPECT_EQ(plots.figures[3].y_label, "time (milliseconds)");
    EXPECT_EQ(plots.figures[4].y_label, "data (KiB)");
    EXPECT_DOUBLE_EQ(plots.figures[4].curves[0].values.back(), 20000.0 / 1024);
}

TEST(Plots, TakeARangeAndThinOutManySamples) {
    const auto rows = rows_every(1'000'000, 1001);
    EXPECT_THAT(make_plots(rows, TimeUnit::seconds, PlotRange{3, 5}).x, ElementsAre(3, 4, 5));
    EXPECT_EQ(make_plots(rows, TimeUnit::seconds, PlotRange{999, {}}).x.size(), 2u);
    EXPECT_TRUE(make_plots(rows, TimeUnit::seconds, PlotRange{2000, {}}).x.empty());
    EXPECT_TRUE(make_plots({}, {}, {}).x.empty());
    const Plots thin = make_plots(rows, TimeUnit::seconds, {}, 100);
    EXPECT_EQ(thin.x.size(), 100u);
    EXPECT_EQ(thin.x.back(), 1000.0);
}

TEST(Plots, OfTimesThatLieTooFarApartGoForward) {
    std::vector<records::hdf5::ManagerRow> rows(2);
    rows[0].timestamp = -9'000'000'000'000'000'000;
    rows[1].timestamp = 9'000'000'000'000'000'000;
    EXPECT_THAT(make_plots(rows, TimeUnit::seconds, {}).x, ElementsAre(0, 18e12));
}

// Whether steps or lines: of 0 nothing is drawn, and a step is held to where it ends.
TEST(Plots, OnALogarithmicScaleHaveGaps) {
    Plots plots;
    plots.x = {0, 1, 2, 3, 4, 5};
    plots.figures = {{"f",
                      "F",
                      "y",
                      false,
                      {{"s", "#111111", true, 1, {1, 2, 0, 3, 0, 4}},
                       {"l", "#222222", false, 1, {0, 1, 2, 0, 3, 0}},
                       {"none", "#333333", true, 1, {0, 0, -1, 0, 0, 0}}}}};
    const std::string script = plot_script({"p", PlotFormat::png, "", {}, true}, plots);
    EXPECT_THAT(script, HasSubstr("$f_log1 << EOD\n0 1\n1 1\n1 2\n2 2\n\n3 3\n4 3\n\n5 4\nEOD\n"));
    EXPECT_THAT(script, HasSubstr("$f_log1_alone << EOD\n3 3\n5 4\nEOD\n"));
    EXPECT_THAT(script, HasSubstr("$f_log2 << EOD\n1 1\n2 2\n\n4 3\nEOD\n"));
    EXPECT_THAT(script, HasSubstr("$f_log2_alone << EOD\n4 3\nEOD\n"));
    EXPECT_THAT(script, Not(HasSubstr("$f_log3")));
    EXPECT_THAT(script, HasSubstr("$f_log1 using 1:2 with lines "));
}

TEST(Plots, NameTheirFiles) {
    const Plots plots = make_plots(rows_every(1'000'000, 5), {}, {});
    EXPECT_THAT(
        plot_paths({"a/run", PlotFormat::svg, "", {}, true}, plots),
        ElementsAre("a/run.tasks.svg", "a/run.tasks-log.svg", "a/run.workers.svg", "a/run.workers-log.svg",
                    "a/run.cores.svg", "a/run.cores-log.svg", "a/run.time.svg", "a/run.time-log.svg",
                    "a/run.transfer.svg", "a/run.transfer-log.svg"));
}

TEST(Plots, AreThisScript) {
    Plots plots = make_plots(rows_every(1'000'000, 3), {}, {});
    plots.figures.resize(1);
    EXPECT_EQ(plot_script({"it's", PlotFormat::png, "tasks_1.sh", {}, true}, plots),
              R"(set encoding utf8
set border 3 linecolor rgb '#555555'
set tics nomirror out
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb '#DDDDDD'
set key outside right top Left reverse samplen 2 spacing 1.25 noenhanced
set lmargin 13
set rmargin 26
set xlabel 'time since the start (seconds)'
set xrange [0:2]
$tasks << EOD
0 2 0
1 1 1
2 0 2
EOD
set terminal pngcairo enhanced size 1100,620 font 'Sans,11' background rgb 'white'
set output 'it''s.tasks.png'
set title 'Tasks – tasks_1.sh' noenhanced font ',13'
set ylabel 'tasks'
unset logscale
set yrange [-0.0315:2.1]
set ytics 1
set format y '%.0f'
plot $tasks using 1:2 with linespoints pointtype 7 pointsize 0.6 linewidth 2 linecolor rgb '#E69F00' title 'waiting', \
     $tasks using 1:3 with linespoints pointtype 7 pointsize 0.6 linewidth 2 linecolor rgb '#009E73' title 'ended'
set terminal pngcairo enhanced size 1100,620 font 'Sans,11' background rgb 'white'
set output 'it''s.tasks-log.png'
set title 'Tasks – tasks_1.sh' noenhanced font ',13'
set ylabel 'tasks, log scale'
set logscale y
set yrange [0.8:11]
set ytics autofreq
set format y '%g'
$tasks_log1 << EOD
0 2
1 1
EOD
$tasks_log2 << EOD
1 1
2 2
EOD
plot $tasks_log1 using 1:2 with linespoints pointtype 7 pointsize 0.6 linewidth 2 linecolor rgb '#E69F00' title 'waiting', \
     $tasks_log2 using 1:2 with linespoints pointtype 7 pointsize 0.6 linewidth 2 linecolor rgb '#009E73' title 'ended'
set output
)");
}

TEST(Plots, SayWhenThereIsNothingToShow) {
    std::vector<records::hdf5::ManagerRow> rows(2);
    rows[1].timestamp = 1'000'000;
    const std::string script = plot_script({"p", PlotFormat::pdf, "", {}}, make_plots(rows, {}, {}));
    EXPECT_THAT(script, HasSubstr("set label 1 'nothing to show: 0 throughout'"));
    EXPECT_THAT(script, Not(HasSubstr("using")));
}

TEST(Plots, ThatAreEmptyCanBeDropped) {
    std::vector<records::hdf5::ManagerRow> rows = rows_every(1'000'000, 3);
    for (records::hdf5::ManagerRow& row : rows)
        row.bytes_received = row.total_cores = row.committed_cores = 0;
    Plots plots = make_plots(rows, {}, {});
    drop_empty_figures(plots);
    std::vector<std::string> names;
    for (const Figure& figure : plots.figures) names.push_back(figure.name);
    EXPECT_THAT(names, ElementsAre("tasks", "workers", "time"));
}

TEST(Plots, HaveATitleThatFits) {
    const Plots plots = make_plots(rows_every(1'000'000, 3), {}, {});
    std::string list;
    for (int i = 0; i < 40; ++i) list += "\xC3\xA4";  // a letter of two bytes
    const std::string script = plot_script({"p", PlotFormat::png, "begin" + list + "end.sh", {}}, plots);
    const std::string eleven = list.substr(0, 22);
    EXPECT_THAT(script, HasSubstr("'Tasks \xE2\x80\x93 begin" + eleven + " \xE2\x80\xA6 " + eleven +
                                  "end.sh' noenh"));
}

TEST(Plots, OfSvgHaveATitleOfTheirOwn) {
    const Plots plots = make_plots(rows_every(1'000'000, 3), {}, {});
    const std::string script = plot_script({"p", PlotFormat::svg, "", {}, true}, plots);
    EXPECT_THAT(script, HasSubstr("rgb 'white' name 'tasks_log'\n"));
}

TEST(Plots, OfOneSampleHaveARange) {
    const Plots plots = make_plots(rows_every(1, 1), {}, {});
    EXPECT_THAT(plot_script({"p", PlotFormat::png, "", {}}, plots), HasSubstr("set xrange [0:1]\n"));
    EXPECT_THAT(plot_script({"p", PlotFormat::png, "", PlotRange{5, {}}}, plots),
                HasSubstr("set xrange [5:6]\n"));
}

TEST(Plots, OfAnythingGetNoLineOfTheirOwnIntoTheScript) {
    const Plots plots = make_plots(rows_every(1'000'000, 3), {}, {});
    const std::string script = plot_script({"p\nsystem 'x'", PlotFormat::png, "'\n!reboot", {}}, plots);
    EXPECT_THAT(script, Not(HasSubstr("\n!reboot")));
    EXPECT_THAT(script, Not(HasSubstr("\nsystem")));
    EXPECT_THAT(script, HasSubstr("'Tasks – '' !reboot'"));
}

}  // namespace
}  // namespace wq::views
