#include "views/web/report_page.h"

#include <gmock/gmock.h>

#include <set>

#include "views/web/page_data.h"

namespace wq::views::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallMicros begin = 1'700'000'000'000'000;
constexpr const char* hostile = "</script><img src=x onerror=alert(1)>\x1b[31m";

// The numbers of a column, as a browser decodes them.
std::vector<std::int64_t> numbers(const Json& columns, const char* name, std::size_t count) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::vector<std::int64_t> values;
    std::uint64_t bits = 0, number = 0;
    int held = 0, shift = 0;
    for (const char letter : columns.find(name)->text()) {
        if (letter == '=') break;
        bits = bits << 6 | letters.find(letter);
        if ((held += 6) < 8) continue;
        held -= 8;
        const std::uint64_t byte = bits >> held & 255;
        number |= (byte & 127) << shift;
        shift = byte > 127 ? shift + 7 : 0;
        if (shift != 0) continue;
        const auto difference = static_cast<std::int64_t>(number >> 1);
        values.push_back((values.empty() ? 0 : values.back()) +
                         ((number & 1) != 0 ? ~difference : difference));
        number = 0;
    }
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

TEST(ReportPage, OfAMillionAttemptsIsBelow3Megabytes) {
    EXPECT_LE(report_page(run_of(1'000'000)).size(), 3'000'000U);
    EXPECT_LE(report_script.size() + report_style.size() + chart_script.size(), 300'000U) << "before data";
}

}  // namespace
}  // namespace wq::views::web
