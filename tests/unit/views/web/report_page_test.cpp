#include "views/web/report_page.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "unit/views/web/number_column.h"
#include "views/web/page_data.h"
#include "views/web/page_rows.h"

namespace wq::views::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallMicros begin = 1'700'000'000'000'000;
constexpr const char* hostile = "</script><img src=x onerror=alert(1)>\x1b[31m";

// The numbers of a column, as a browser decodes them.
std::vector<std::int64_t> numbers(const Json& columns, const char* name, std::size_t count) {
    std::vector<std::int64_t> values = numbers_in(columns.find(name)->text());
    values.resize(count);
    return values;
}

report::ReportedRun run_of(std::size_t attempts) {
    report::ReportedRun reported;
    model::RunView& run = reported.run;
    run.title = run.path = hostile;
    run.begin = begin;
    run.end = begin + 1'000'000'000;
    run.sessions = {{run.begin, run.end}};
    run.categories = {{hostile}, {"b"}};
    for (std::uint32_t id = 0; id < 4; ++id) {
        model::RunWorker worker;
        worker.id = id;
        worker.host = worker.address = id == 0 ? std::string(hostile) : "node" + std::to_string(id);
        worker.cores = 2000;
        worker.joined = begin;
        run.workers.push_back(worker);
    }
    for (std::size_t n = 0; n < attempts; ++n) {
        model::RunAttempt one;
        one.task = n + 1;
        one.category = n % 2;
        one.worker = n % 4;
        one.cores = 1000;
        const auto at = static_cast<WallMicros>(n * 999'000'000 / attempts);
        one.submitted = begin;
        one.dispatched = one.started = begin + at;
        one.wall_us = n % 1000 == 7 ? 900'000 : 500;
        one.ended = one.received = one.started + one.wall_us;
        one.exit_code = n % 10'000 == 3 ? 1 : 0;
        run.attempts.push_back(one);
    }
    reported.figures = report::figures_of(run);
    return reported;
}

TEST(PageData, HasEveryAttemptOfASmallRun) {
    const Json data = page_data(run_of(100));
    const Json& attempts = *data.find("attempts");
    EXPECT_EQ(attempts.find("count")->integer(), 100);
    EXPECT_EQ(attempts.find("of")->integer(), 100);
    EXPECT_TRUE(data.find("busy")->is_null());
    const Json& columns = *attempts.find("columns");
    const auto tasks = numbers(columns, "task", 100);
    EXPECT_EQ(std::set(tasks.begin(), tasks.end()).size(), 100U);
    const std::int64_t tick = data.find("tick_us")->integer();
    const auto begins = numbers(columns, "begin", 100);
    const auto waited = numbers(columns, "waited", 100);
    const auto endings = numbers(columns, "ending", 100);
    for (std::size_t i = 0; i < 100; ++i) {
        const auto n = static_cast<std::size_t>(tasks[i] - 1);
        EXPECT_EQ(begins[i], static_cast<std::int64_t>(n * 9'990'000) / tick);
        EXPECT_EQ(waited[i], begins[i]) << "since it was submitted, at the run's begin";
        const std::string& ending =
            data.find("endings")->parts()[static_cast<std::size_t>(endings[i])].text();
        EXPECT_EQ(ending, n == 3 ? "exit 1" : "succeeded");
    }
}

TEST(PageData, OfALargeRunHasFailedAndLongAttemptsAndHowBusyWorkersWere) {
    const auto reported = run_of(200'000);
    const Json data = page_data(reported);
    const Json& attempts = *data.find("attempts");
    const auto count = static_cast<std::size_t>(attempts.find("count")->integer());
    EXPECT_LE(count, most_bars);
    EXPECT_EQ(attempts.find("of")->integer(), 200'000);
    const auto tasks = numbers(*attempts.find("columns"), "task", count);
    const std::set<std::int64_t> shown(tasks.begin(), tasks.end());
    for (std::int64_t n = 0; n < 200'000; ++n) {
        if (n % 10'000 == 3 || n % 1000 == 7) {
            ASSERT_TRUE(shown.contains(n + 1)) << n;
        }
    }
    const Json& busy = *data.find("busy");
    const auto bins = static_cast<std::size_t>(busy.find("bins")->integer());
    const auto share = numbers(busy, "share", 5 * bins);
    std::int64_t sum = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) sum += share[3 * bins + bin];
    // 50,000 attempts of this worker: 49,800 of 500 us, 200 of 0.9 s (n % 1000 == 7 is worker 3's), of 2
    // cores.
    const double seconds = static_cast<double>(sum) / 1000 * 1000.0 / static_cast<double>(bins);
    EXPECT_NEAR(seconds * 2, 200 * 0.9 + 49'800 * 0.0005, 25);
}

TEST(PageData, SumsWhatWaitedBeforeItLeavesPointsOut) {
    report::ReportedRun reported = run_of(10);
    model::RunView& run = reported.run;
    run.asks.resize(3);
    for (std::uint64_t n = 0; n < 30'000; ++n)
        run.waiting.push_back({begin + static_cast<WallMicros>(n * 33'000), n % 7 + 1,
                               static_cast<std::uint32_t>(n % 3), engine::model::WaitReason::busy});
    const WallMicros end = begin + 999'000'000;
    run.waiting.push_back({end, 0, 0, engine::model::WaitReason::busy});
    run.waiting.push_back({end, 0, 1, engine::model::WaitReason::busy});
    run.waiting.push_back({end, 5, 2, engine::model::WaitReason::busy});
    const Json data = page_data(reported);
    const Json& waiting = *data.find("waiting");
    const auto count = static_cast<std::size_t>(waiting.find("count")->integer());
    EXPECT_LE(count, most_points + 2);
    EXPECT_GE(count, most_points / 2);
    EXPECT_EQ(numbers(*waiting.find("columns"), "busy", count).back(), 5);
    ASSERT_EQ(waiting.find("left")->size(), 1U);
    EXPECT_EQ(waiting.find("left")->parts()[0].find("tasks")->integer(), 5);
}

void add_series(model::RunView& run) {
    for (int n = 0; n < 3'000; ++n) {
        const WallMicros time = run.begin + n * 330'000;
        model::RunSample sample;
        sample.time = time;
        sample.stats.tasks_done = n * 97;
        sample.stats.tasks_waiting = 300'000 - n * 97;
        sample.stats.tasks_running = 7'000 + n * 7'919 % 1'000;
        sample.stats.total_cores = 20'000;
        sample.stats.committed_cores = sample.stats.tasks_running;
        sample.stats.bytes_sent = sample.stats.bytes_received = n * std::int64_t{987'654'321};
        run.samples.push_back(sample);
        const auto place = static_cast<std::uint32_t>(n);
        run.asks.push_back({{4, 2048 + n, -1, -1, 0}, "avx"});
        run.waiting.push_back({time, place % 1'000 + 1, place, engine::model::WaitReason::busy});
        run.transfers.push_back({time, 1'234 + n, place + 1, 987'654U + place, place, true,
                                 "/scratch/project/input of sample " + std::to_string(n) + ".fastq"});
    }
}

// 20,000 categories and 10,000 workers of as many hosts: all that a page has of each costs room.
report::ReportedRun wide_run() {
    report::ReportedRun reported;
    model::RunView& run = reported.run;
    run.begin = begin;
    run.end = begin + 1'000'000'000;
    run.sessions = {{run.begin, run.end}};
    for (int n = 0; n < 20'000; ++n)
        run.categories.push_back({"category of chromosome " + std::to_string(n)});
    for (std::uint32_t n = 0; n < 10'000; ++n) {
        model::RunWorker worker;
        worker.id = n;
        worker.host = "node" + std::to_string(n) + ".cluster.example.org";
        worker.address = worker.host + ":40123";
        worker.cores = 2000;
        worker.joined = begin + n * 1'237;
        worker.left = n % 3 == 0 ? 0 : run.end - n * 977;
        worker.why_left = n % 3 == 0 ? "" : "idle for 30 s";
        run.workers.push_back(worker);
    }
    std::uint64_t random = 1;
    for (std::uint32_t n = 0; n < 300'000; ++n) {
        random = random * 6364136223846793005 + 1442695040888963407;
        model::RunAttempt one;
        one.task = n + 1;
        one.line = n + 1;
        one.category = n % 20'000;
        one.worker = n % 10'000;
        one.cores = 1000;
        one.submitted = begin;
        one.dispatched = one.started = begin + static_cast<WallMicros>(random >> 33) % 900'000'000;
        // The first of each have the least time.
        one.wall_us = 1'000'000 + n % 20'000 * 1'000 + static_cast<std::int64_t>(random >> 20) % 999;
        one.cpu_us = one.wall_us / 3;
        one.memory_mb = 2048;
        one.memory_peak_mb = static_cast<std::int64_t>(random >> 40) % 2048;
        one.ended = one.received = one.started + one.wall_us;
        one.exit_code = (random >> 50) % 20 == 0 ? 1 : 0;
        run.attempts.push_back(one);
    }
    std::sort(run.attempts.begin(), run.attempts.end(),
              [](const auto& a, const auto& b) { return a.received < b.received; });
    add_series(run);
    reported.figures = report::figures_of(run);
    return reported;
}

TEST(PageData, HasRowsForThoseWithMostCoreTimeAndTheSumOfTheOthers) {
    const report::ReportedRun reported = wide_run();
    const Json data = page_data(reported);
    const auto attempts_of = [](const Json& table) {
        std::int64_t sum = 0;
        for (const Json& row : table.find("rows")->parts()) sum += row.find("attempts")->integer();
        return sum;
    };
    const Json& categories = *data.find("category_table");
    EXPECT_EQ(categories.find("of")->integer(), 20'000);
    ASSERT_EQ(categories.find("rows")->size(), most_categories + 1);
    EXPECT_EQ(categories.find("rows")->parts().back().find("name")->text(), "19000 other categories");
    EXPECT_EQ(attempts_of(categories), 300'000);
    const Json& hosts = *data.find("host_table");
    ASSERT_EQ(hosts.find("rows")->size(), most_hosts + 1);
    EXPECT_EQ(hosts.find("rows")->parts().back().find("workers")->integer(), 9'000);
    EXPECT_EQ(attempts_of(hosts), 300'000);
    ASSERT_EQ(data.find("categories")->size(), most_categories + 2);
    EXPECT_EQ(data.find("categories")->parts().front().find("name")->text(), "category of chromosome 19000");
    const Json& workers = *data.find("workers");
    EXPECT_EQ(workers.find("names")->size(), most_workers + 1);
    EXPECT_EQ(workers.find("names")->parts().front().text(), "node5000.cluster.example.org:40123");
    EXPECT_EQ(workers.find("others")->integer(), static_cast<std::int64_t>(most_workers));
    EXPECT_EQ(numbers(*workers.find("columns"), "cores", most_workers + 1).back(), 5'000 * 2'000);
    const Json& attempts = *data.find("attempts");
    const auto count = static_cast<std::size_t>(attempts.find("count")->integer());
    const Json& columns = *attempts.find("columns");
    const auto tasks = numbers(columns, "task", count);
    const auto category = numbers(columns, "category", count);
    const auto worker = numbers(columns, "worker", count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t n = tasks[i] - 1;
        ASSERT_EQ(category[i], n % 20'000 < 19'000 ? 1'000 : n % 20'000 - 19'000);
        ASSERT_EQ(worker[i], n % 10'000 < 5'000 ? 5'000 : n % 10'000 - 5'000);
    }
}

TEST(PageData, TimesOfALostAttemptAreNotRecorded) {
    report::ReportedRun reported = run_of(2);
    model::RunAttempt& lost = reported.run.attempts[1];
    lost.ending = engine::model::Ending::worker_lost;
    lost.ended = lost.submitted = 0;
    lost.wall_us = lost.cpu_us = model::not_recorded;
    const Json data = page_data(reported);
    const Json& columns = *data.find("attempts")->find("columns");
    const auto task = numbers(columns, "task", 2);
    const std::size_t row = task[0] == 2 ? 0 : 1;
    EXPECT_EQ(numbers(columns, "cpu", 2)[row], -1);
    EXPECT_EQ(numbers(columns, "waited", 2)[row], -1);
    EXPECT_EQ(numbers(columns, "no_run_time", 2)[row], 1);
    EXPECT_EQ(numbers(columns, "no_run_time", 2)[1 - row], 0);
}

TEST(ReportPage, NoNameOfARunIsMoreThanText) {
    const std::string page = report_page(run_of(10));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("\x1b")));
    std::size_t scripts = 0;
    for (std::size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1))
        ++scripts;
    EXPECT_EQ(scripts, 3U) << "the data, Chart.js and ours";
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    EXPECT_THAT(page, Not(HasSubstr("src=\"http"))) << "it refers to nothing outside of it";
}

TEST(ReportPage, OfAMillionAttemptsOrManyNamesIsBelow3Megabytes) {
    EXPECT_LE(report_page(run_of(1'000'000)).size(), 3'000'000U);
    EXPECT_LE(report_page(wide_run()).size(), 3'000'000U);
    EXPECT_LE(report_script.size() + report_style.size() + chart_script.size(), 300'000U) << "before data";
}

}  // namespace
}  // namespace wq::views::web
