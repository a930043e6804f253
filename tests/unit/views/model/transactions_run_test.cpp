#include "views/model/transactions_run.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "records/journal/transactions.h"
#include "unit/records/journal/records_testing.h"
#include "views/model/account.h"
#include "views/model/stats_run.h"

namespace wq::views::model {
namespace {

using engine::model::Ending;
using ::testing::Contains;
using ::testing::HasSubstr;

// Lines of a log, whose times are seconds.
std::string log_of(const std::vector<std::pair<double, std::string>>& lines) {
    std::string text = "# time manager_pid MANAGER START|END\n\n";
    for (const auto& [time, line] : lines)
        text += std::to_string(static_cast<std::int64_t>(time * 1e6)) + " 16444 " + line + "\n";
    return text;
}

RunView run_of(const std::string& text) {
    auto run = transactions_run_of(text, "dir/my.log");
    EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
    return run.ok() ? std::move(*run) : RunView{};
}

constexpr WallMicros s = micros_per_second;

RunView run_of_cctools() {
    return run_of(log_of({
        {10, "MANAGER START"},
        {11, "WORKER worker-a 10.0.0.1:48268  CONNECTION"},
        {11,
         R"(WORKER worker-a RESOURCES {"cores":[4,"cores"],"memory":[800,"MB"],"disk":[90,"MB"],"gpus":[1,"gpus"]})"},
        {12, R"(TASK 1 WAITING mine FIRST_RESOURCES {"cores":[1.5,"cores"],"memory":[100,"MB"]})"},
        {12, R"(TASK 2 WAITING default FIRST_RESOURCES {"cores":[1.5,"cores"],"memory":[100,"MB"]})"},
        {12, R"(TASK 3 WAITING default FIRST_RESOURCES {})"},
        {14, "TRANSFER INPUT 1 1 0.5 1.000000 data"},
        {14,
         R"(TASK 1 RUNNING 10.0.0.1:48268  FIRST_RESOURCES {"cores":[2,"cores"],"memory":[200,"MB"],"disk":[5,"MB"]})"},
        {15, R"(TASK 2 RUNNING 10.0.0.1:48268  FIRST_RESOURCES {"cores":[1,"cores"]})"},
        {18, "TASK 1 WAITING_RETRIEVAL 10.0.0.1:48268"},
        {18.5, "TRANSFER OUTPUT 1 0 2 0.250000 result"},
        {19,
         R"(TASK 1 RETRIEVED SUCCESS  0  {} {"cores":[1,"cores"],"wall_time":[3,"s"],"cpu_time":[2.5,"s"],"memory":[77,"MB"]})"},
        {19, R"(TASK 1 DONE SUCCESS  0  {} {})"},
        {20, "TASK 2 WAITING_RETRIEVAL 10.0.0.1:48268"},
        {20, R"(TASK 2 RETRIEVED RESOURCE_EXHAUSTION  9  {"cores":[1,"cores"]} {})"},
        {20, R"(TASK 2 WAITING default MAX_RESOURCES {"cores":[4,"cores"]})"},
        {21, R"(TASK 2 RUNNING 10.0.0.1:48268  MAX_RESOURCES {"cores":[4,"cores"]})"},
        {24, R"(TASK 2 RETRIEVED SIGNAL  11  {} {})"},
        {24, R"(TASK 2 DONE SIGNAL  11  {} {})"},
        {25, "WORKER worker-a 10.0.0.1:48268  DISCONNECTION IDLE_OUT"},
        {26, "MANAGER END"},
    }));
}

TEST(TransactionsRun, OfCctoolsHasAttemptsWorkersAndFiles) {
    const RunView run = run_of_cctools();
    EXPECT_EQ(run.title, "my.log");
    ASSERT_EQ(run.sessions.size(), 1u);
    EXPECT_EQ(run.begin, 10 * s);
    EXPECT_EQ(run.end, 26 * s);
    ASSERT_EQ(run.workers.size(), 1u);
    const RunWorker& worker = run.workers[0];
    EXPECT_EQ(worker.host, "10.0.0.1");
    EXPECT_EQ(worker.cores, 4000);
    EXPECT_EQ(worker.gpus, 1000);
    EXPECT_EQ(worker.memory_mb, 800);
    EXPECT_EQ(worker.joined, 11 * s);
    EXPECT_EQ(worker.left, 25 * s);
    EXPECT_EQ(worker.why_left, "IDLE_OUT");
    ASSERT_EQ(run.attempts.size(), 3u);
    const RunAttempt& first = run.attempts[0];
    EXPECT_EQ(run.categories.at(first.category).name, "mine");
    EXPECT_EQ(first.submitted, 12 * s);
    EXPECT_EQ(first.ready, 0);
    EXPECT_EQ(first.dispatched, 14 * s);
    EXPECT_EQ(first.started, 15 * s);
    EXPECT_EQ(first.ended, 18 * s);
    EXPECT_EQ(first.outputs_there, 18 * s + s / 2);
    EXPECT_EQ(first.received, 19 * s);
    EXPECT_EQ(first.cpu_us, 5 * s / 2);
    EXPECT_EQ(first.cores, 2000);
    EXPECT_EQ(first.memory_mb, 200);
    EXPECT_EQ(first.memory_peak_mb, 77);
    EXPECT_EQ(first.bytes_in, 512 * 1024);
    EXPECT_EQ(first.bytes_out, 2 * 1024 * 1024);
    EXPECT_TRUE(first.is_accepted);
    EXPECT_EQ(run.asks.at(first.ask).needs.cores, Count::of_thousandths(1500));
    EXPECT_EQ(run.asks.at(first.ask).needs.gpus, -1);
    const RunAttempt& exhausted = run.attempts[1];
    EXPECT_EQ(exhausted.ending, Ending::exhausted);
    EXPECT_FALSE(exhausted.is_final);
    EXPECT_FALSE(exhausted.is_accepted);
    EXPECT_EQ(exhausted.ask, first.ask);
    EXPECT_EQ(exhausted.cpu_us, not_recorded);
    const RunAttempt& again = run.attempts[2];
    EXPECT_EQ(again.attempt, 2u);
    EXPECT_EQ(again.ending, Ending::signalled);
    EXPECT_EQ(again.signal, 11);
    EXPECT_TRUE(again.is_final);
    EXPECT_NE(again.ask, first.ask);
    ASSERT_EQ(run.transfers.size(), 2u);
    EXPECT_EQ(run.transfers[0].name, "data");
    EXPECT_THAT(run.lacks, Contains(HasSubstr("why tasks waited")));
    const Account account = account_of(run);
    EXPECT_TRUE(account.offered == CoreTime{4000} * 14 * s);
    EXPECT_TRUE(account.at(AccountLine::useful) == CoreTime{1000} * (5 * s / 2));
    EXPECT_TRUE(account.at(AccountLine::lost) == CoreTime{1000} * (5 * s) + CoreTime{4000} * (3 * s));
}

TEST(TransactionsRun, KnowsHostsByTheirAddresses) {
    const RunView run = run_of(log_of({{10, "MANAGER START"},
                                       {11, "WORKER a [2001:db8::5]:9123 CONNECTION"},
                                       {12, "WORKER b [2001:db8::6]:9123 CONNECTION"},
                                       {13, "WORKER c node7:9123 CONNECTION"},
                                       {14, "WORKER d node8 CONNECTION"}}));
    ASSERT_EQ(run.workers.size(), 4u);
    EXPECT_EQ(run.workers[0].host, "2001:db8::5");
    EXPECT_EQ(run.workers[1].host, "2001:db8::6");
    EXPECT_EQ(run.workers[2].host, "node7");
    EXPECT_EQ(run.workers[3].host, "node8");
}

TEST(TransactionsRun, OfOursHasRanges) {
    records::journal::TransactionStamp stamp(7);
    std::string text(records::journal::transactions_heading());
    records::journal::WorkerRecord worker = records::journal::testing::worker_number(3);
    worker.joined_us = 100 * s;
    records::journal::put_worker_lines(text, stamp, worker);
    records::journal::RangeRecord range;
    range.tasks.insert({0, 300});
    range.given = {2, 0, 0, 0};
    range.wall_us = s / 2, range.user_us = s / 4;
    range.received_us = 102 * s;
    records::journal::put_range_lines(text, stamp, range, worker.address);
    const RunView run = run_of(text);
    ASSERT_EQ(run.attempts.size(), 1u);
    const RunAttempt& calls = run.attempts[0];
    EXPECT_EQ(calls.task, 1u);
    EXPECT_EQ(calls.calls, 300u);
    EXPECT_EQ(calls.cores, 2000);
    EXPECT_EQ(calls.wall_us, s / 2);
    EXPECT_EQ(calls.cpu_us, s / 4);
    EXPECT_EQ(calls.started, 102 * s - s / 2);
    EXPECT_EQ(calls.received, 102 * s);
    EXPECT_TRUE(calls.is_accepted);
    EXPECT_EQ(run.workers.at(calls.worker).cores, 4000);
    EXPECT_TRUE(account_of(run).at(AccountLine::useful) == CoreTime{1000} * (s / 4));
}

TEST(TransactionsRun, KnowsCategoriesOfRangesThatOverlap) {
    const auto category_of = [](int task) {
        const RunView run = run_of(log_of({
            {10, "MANAGER START"},
            {11, "TASK 10-90 WAITING a FIRST_RESOURCES {}"},
            {12, "TASK 30-40 WAITING b FIRST_RESOURCES {}"},
            {13, "TASK 35-60 WAITING c FIRST_RESOURCES {}"},
            {14, "TASK 1-12 WAITING d FIRST_RESOURCES {}"},
            {15, "TASK 20-21 WAITING e FIRST_RESOURCES {}"},
            {16, "TASK 20-22 WAITING f FIRST_RESOURCES {}"},
            {17, "TASK " + std::to_string(task) + " RUNNING h:1 FIRST_RESOURCES {}"},
        }));
        return run.categories.at(run.attempts.at(0).category).name;
    };
    std::string categories;
    for (const int task : {1, 10, 12, 13, 19, 20, 21, 22, 23, 29, 30, 34, 35, 40, 41, 60, 61, 90})
        categories += category_of(task);
    EXPECT_EQ(categories, "dddaafffaabbccccaa");
    EXPECT_EQ(category_of(91), "unknown");
}

// Looking through all ranges for each line would take minutes.
TEST(TransactionsRun, ReadsManyRangesFast) {
    constexpr int ranges = 200'000;
    constexpr int ends = 300'000;
    std::string text = "10000000 7 MANAGER START\n";
    for (int n = 1; n <= ranges; ++n)
        text += "11000000 7 TASK " + std::to_string(10 * n) + "-" + std::to_string(10 * n + 5) +
                " WAITING c" + std::to_string(n % 3) + " FIRST_RESOURCES {}\n";
    for (int n = 0; n < ends; ++n)
        text += "12000000 7 TASK " + std::to_string(10 + n % 3 * 10) +
                R"( DONE SUCCESS  0  {} {"tasks":[6,"tasks"]} h:1)" + "\n";
    const Instant begin = instant_now();
    const RunView run = run_of(text);
    EXPECT_LT(instant_now() - begin, std::chrono::seconds(30));
    ASSERT_EQ(run.attempts.size(), static_cast<std::size_t>(ends));
    for (const RunAttempt& attempt : run.attempts)
        ASSERT_EQ(run.categories.at(attempt.category).name, "c" + std::to_string(attempt.task / 10 % 3));
}

TEST(TransactionsRun, BoundsTheBytesOfFiles) {
    std::vector<std::pair<double, std::string>> lines = {
        {10, "MANAGER START"}, {12, "TASK 1 WAITING a FIRST_RESOURCES {}"}, {13, "TASK 1 RUNNING h:1 {}"}};
    for (int n = 0; n < 9; ++n) lines.emplace_back(14, "TRANSFER INPUT 1 1 999999999999 1.000000 data");
    const RunView run = run_of(log_of(lines));
    EXPECT_EQ(run.attempts.at(0).bytes_in, std::int64_t{1} << 60);
}

TEST(TransactionsRun, KnowsWhatRunsAndWhatAKilledManagerLost) {
    const RunView run = run_of(log_of({
        {10, "MANAGER START"},
        {11, "WORKER worker-a h:1 CONNECTION"},
        {12, "TASK 1 WAITING default FIRST_RESOURCES {}"},
        {13, R"(TASK 1 RUNNING h:1 FIRST_RESOURCES {"cores":[1,"cores"]})"},
        {50, "MANAGER START"},
        {51, "WORKER worker-a h:1 CONNECTION"},
        {52, R"(TASK 1 RUNNING h:1 FIRST_RESOURCES {"cores":[1,"cores"]})"},
        {53, R"(TASK 2 RUNNING h:1 FIRST_RESOURCES {"cores":[1,"cores"]})"},
        {54, "TASK 2 CANCELED"},
    }));
    ASSERT_EQ(run.sessions.size(), 2u);
    EXPECT_EQ(run.sessions[1].begin, 50 * s);
    ASSERT_EQ(run.attempts.size(), 3u);
    EXPECT_EQ(run.attempts[0].ending, Ending::worker_lost);
    EXPECT_EQ(run.attempts[0].received, 13 * s);
    EXPECT_EQ(run.attempts[1].ending, Ending::killed);
    EXPECT_EQ(run.attempts[2].received, 0) << "it runs";
    EXPECT_FALSE(run.attempts[2].is_accepted);
    EXPECT_EQ(run.workers.at(0).left, 13 * s);
    EXPECT_THAT(run.lacks, Contains(HasSubstr("cores of some workers")));
}

TEST(TransactionsRun, IsReadFromADirectoryWithoutMore) {
    const records::journal::testing::TempDir dir;
    test::write_file(dir.file("transactions.log"),
                     log_of({{10, "MANAGER START"}, {11, "WORKER w h:1 CONNECTION"}}));
    const auto run = read_run(dir.path());
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_EQ(run->workers.size(), 1u);
    EXPECT_THAT(run->lacks.at(0), HasSubstr("transactions.log was read instead"));
    test::write_file(dir.file("transactions.log"), "10 7 MANAGER START\nrubbish\n");
    const auto refused = read_run(dir.path());
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("transactions.log:2: no record"));
}

}  // namespace
}  // namespace wq::views::model
