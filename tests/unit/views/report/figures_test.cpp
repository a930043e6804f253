#include "views/report/figures.h"

#include <gmock/gmock.h>

#include "unit/views/report/sample_run.h"
#include "views/report/spread.h"

namespace wq::views::report {
namespace {

using engine::model::Ending;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(Spread, HasTheQuantilesOfNumpy) {
    std::vector<Repeated> values{{5}, {1}, {3}, {2}, {4}};
    const Spread five = spread_of(values);
    EXPECT_EQ(five.count, 5U);
    EXPECT_DOUBLE_EQ(five.least, 1);
    EXPECT_DOUBLE_EQ(five.lower_quartile, 2);
    EXPECT_DOUBLE_EQ(five.median, 3);
    EXPECT_DOUBLE_EQ(five.upper_quartile, 4);
    EXPECT_DOUBLE_EQ(five.percentile_95, 4.8);
    EXPECT_DOUBLE_EQ(five.most, 5);
    EXPECT_DOUBLE_EQ(five.mean, 3);
}

TEST(Spread, CountsRepeatedValues) {
    std::vector<Repeated> values{{10, 1}, {1, 3}};  // 1 1 1 10
    const Spread spread = spread_of(values);
    EXPECT_EQ(spread.count, 4U);
    EXPECT_DOUBLE_EQ(spread.median, 1);
    EXPECT_DOUBLE_EQ(spread.upper_quartile, 3.25);
    EXPECT_DOUBLE_EQ(spread.mean, 3.25);
}

TEST(Spread, IsOfOneOrNoValue) {
    std::vector<Repeated> none;
    EXPECT_EQ(spread_of(none), Spread());
    std::vector<Repeated> one{{7}};
    EXPECT_EQ(spread_of(one), (Spread{1, 7, 7, 7, 7, 7, 7, 7}));
}

TEST(Figures, CountTasksAndAttempts) {
    const RunFigures figures = figures_of(test::sample_view());
    EXPECT_EQ(figures.tasks_succeeded, 6U);
    EXPECT_EQ(figures.tasks_failed, 2U);
    EXPECT_EQ(figures.tasks_never_ran, 1U);
    EXPECT_EQ(figures.attempts, 8U) << "one never ran";
    EXPECT_EQ(figures.attempts_failed, 2U);
    EXPECT_EQ(figures.attempts_running, 0U);
    EXPECT_EQ(figures.tasks_left, model::not_recorded);
    EXPECT_EQ(figures.makespan_us, 80 * test::second) << "without the pause";
    EXPECT_DOUBLE_EQ(figures.tasks_per_second, 0.1);
    EXPECT_EQ(figures.most_cores, 8000);
}

TEST(Figures, TaskThatSucceedsAfterAResumeHasNotFailed) {
    model::RunView run;
    run.attempts = {test::failed(test::attempt(4, 0, 0, 0, 1), Ending::exited, 1),
                    test::failed(test::attempt(5, 0, 0, 0, 1), Ending::exited, 1),
                    test::attempt(4, 0, 0, 10, 1),
                    test::failed(test::attempt(5, 0, 0, 10, 1), Ending::exited, 1)};
    const RunFigures figures = figures_of(run);
    EXPECT_EQ(figures.tasks_succeeded, 1U);
    EXPECT_EQ(figures.tasks_failed, 1U) << "task 5, twice";
}

TEST(Figures, KnowWhatIsLeftByTheLastSample) {
    model::RunView run = test::sample_view();
    model::RunSample sample{run.end, {}};
    sample.stats.tasks_waiting = 3;
    sample.stats.tasks_on_workers = 2;
    run.samples = {sample};
    EXPECT_EQ(figures_of(run).tasks_left, 5);
    run.samples.back().time = test::begin;
    EXPECT_EQ(figures_of(run).tasks_left, model::not_recorded) << "it is older than the last end";
}

TEST(Figures, MeasureCategories) {
    const RunFigures figures = figures_of(test::sample_view());
    ASSERT_THAT(figures.categories, SizeIs(2)) << "nothing of index ran";
    const CategoryFigures& merge = figures.categories[0];
    EXPECT_EQ(merge.name, "merge") << "it held 30 + 120 + 5 core-seconds";
    EXPECT_DOUBLE_EQ(merge.core_seconds, 155);
    EXPECT_DOUBLE_EQ(merge.used_core_seconds, 15 + 30 + 2.5);
    EXPECT_EQ(merge.attempts, 3U);
    EXPECT_EQ(merge.succeeded, 1U);
    ASSERT_THAT(merge.failures, SizeIs(2));
    EXPECT_EQ(describe(merge.failures[0].kind), "exit 3");
    EXPECT_EQ(describe(merge.failures[1].kind), "signal 11 (SIGSEGV)");
    EXPECT_EQ(merge.memory_mb.asked.count, 0U) << "not recorded";
    EXPECT_EQ(merge.memory_mb.used.count, 0U);
    const CategoryFigures& align = figures.categories[1];
    EXPECT_EQ(align.wall_seconds.count, 5U);
    EXPECT_DOUBLE_EQ(align.wall_seconds.median, 10);
    EXPECT_DOUBLE_EQ(align.wall_seconds.upper_quartile, 20);
    EXPECT_DOUBLE_EQ(align.cores.used.median, 0.5);
    EXPECT_DOUBLE_EQ(align.cores.percent.most, 50);
    EXPECT_DOUBLE_EQ(align.memory_mb.asked.median, 8192);
    EXPECT_DOUBLE_EQ(align.memory_mb.percent.median, 12.5);
}

TEST(Figures, RangeIsManyAttempts) {
    model::RunView run;
    run.categories = {{"calls"}};
    model::RunAttempt range = test::attempt(1, 0, 0, 0, 50);
    range.calls = 100;
    run.attempts = {range, test::attempt(101, 0, 0, 0, 1)};
    const RunFigures figures = figures_of(run);
    EXPECT_EQ(figures.tasks_succeeded, 101U);
    EXPECT_EQ(figures.attempts, 101U);
    EXPECT_EQ(figures.categories[0].wall_seconds.count, 101U);
    EXPECT_DOUBLE_EQ(figures.categories[0].wall_seconds.median, 0.5);
    ASSERT_THAT(figures.slowest, SizeIs(1)) << "a row of many calls is no slow task";
    EXPECT_EQ(figures.slowest[0].task, 101U);
}

TEST(Figures, CompareHosts) {
    const RunFigures figures = figures_of(test::sample_view());
    ASSERT_THAT(figures.hosts, SizeIs(2));
    const HostFigures& node1 = figures.hosts[0];
    const HostFigures& node2 = figures.hosts[1];
    EXPECT_EQ(node1.name, "node1");
    EXPECT_DOUBLE_EQ(node1.offered_core_seconds, 400);
    EXPECT_DOUBLE_EQ(node1.core_seconds, 30 + 120 + 5);
    EXPECT_DOUBLE_EQ(node1.used_core_seconds, 15 + 30 + 2.5);
    EXPECT_DOUBLE_EQ(node1.mean_wall_seconds, 15);
    EXPECT_DOUBLE_EQ(node1.slowness, 0.5) << "of align alone: merge succeeded nowhere else";
    EXPECT_EQ(node1.failed, 1U);
    EXPECT_EQ(node2.attempts, 3U);
    EXPECT_DOUBLE_EQ(node2.core_seconds, 40 + 30);
    EXPECT_DOUBLE_EQ(node2.slowness, 2);
}

TEST(Figures, RunningAttemptHoldsItsHost) {
    model::RunView run = test::sample_view();
    model::RunAttempt running = test::attempt(9, 0, 1, 90, 0);
    running.received = running.ended = 0;
    running.is_accepted = false;
    run.attempts = {running};
    const RunFigures figures = figures_of(run);
    EXPECT_EQ(figures.attempts_running, 1U);
    EXPECT_EQ(figures.attempts, 0U);
    EXPECT_DOUBLE_EQ(figures.hosts[1].core_seconds, 10);
    EXPECT_EQ(figures.categories[0].running, 1U);
    EXPECT_EQ(figures.categories[0].wall_seconds.count, 0U);
}

TEST(Figures, GroupFailuresWithExamples) {
    model::RunView run;
    for (std::uint64_t task = 1; task <= 5; ++task) {
        run.attempts.push_back(test::failed(test::attempt(task, 0, 0, 0, 1), Ending::exited, 3));
        run.attempts.back().is_final = task == 5;
    }
    run.attempts.push_back(test::failed(test::attempt(9, 0, 0, 0, 1), Ending::worker_lost));
    std::vector<std::uint64_t> asked;
    AttemptTexts texts;
    texts.stderr_end = [&](const model::RunAttempt& each) {
        asked.push_back(each.task);
        return std::string("no space");
    };
    texts.command = [](const model::RunAttempt& each) { return "run " + std::to_string(each.task); };
    const RunFigures figures = figures_of(run, texts);
    ASSERT_THAT(figures.failures, SizeIs(2));
    EXPECT_EQ(figures.failures[0].attempts, 5U);
    ASSERT_THAT(figures.failures[0].examples, SizeIs(most_examples));
    EXPECT_EQ(figures.failures[0].examples[0].task, 5U) << "no further attempt has replaced its output";
    EXPECT_EQ(figures.failures[0].examples[0].line, 7);
    EXPECT_EQ(figures.failures[0].examples[0].stderr_end, "no space");
    EXPECT_EQ(figures.failures[0].examples[0].command, "run 5");
    EXPECT_EQ(describe(figures.failures[1].kind), "worker lost");
    EXPECT_THAT(asked, ElementsAre(5, 2, 3, 9));
}

TEST(Figures, KeepTheSlowest) {
    model::RunView run;
    for (std::uint64_t task = 1; task <= 30; ++task)
        run.attempts.push_back(test::attempt(task, 0, 0, 0, static_cast<std::int64_t>(task * 7 % 31)));
    const RunFigures figures = figures_of(run);
    ASSERT_THAT(figures.slowest, SizeIs(most_slow));
    for (std::size_t n = 0; n < most_slow; ++n)
        EXPECT_DOUBLE_EQ(figures.slowest[n].wall_seconds, 30 - static_cast<double>(n));
}

TEST(Figures, AreOfNothing) {
    const RunFigures figures = figures_of({});
    EXPECT_EQ(figures.attempts, 0U);
    EXPECT_DOUBLE_EQ(figures.tasks_per_second, 0);
    EXPECT_TRUE(figures.categories.empty());
    EXPECT_TRUE(figures.hosts.empty());
}

TEST(Figures, IntervalNeverEndsBeforeItBegins) {
    model::RunView run = test::sample_view();
    model::RunAttempt odd = test::attempt(1, 0, 0, -50, 0);  // the clock of its host is behind
    odd.ended = odd.received = test::begin - 70 * test::second;
    const TimeSpan interval = time_span_of(run, odd);
    EXPECT_EQ(interval.begin, run.begin);
    EXPECT_EQ(interval.end, run.begin);
}

}  // namespace
}  // namespace wq::views::report
