#include "views/transactions_reader.h"

#include <gmock/gmock.h>

#include "records/journal/transactions.h"
#include "unit/records/journal/records_testing.h"

namespace wq::views {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr WallMicros second = 1'000'000;

Attempts read(const std::string& text) {
    auto read = read_transactions(text, "log");
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
    return read.ok() ? std::move(*read) : Attempts{};
}

// Lines of a log, whose times are seconds.
std::string log(const std::vector<std::pair<double, std::string>>& lines) {
    std::string text = "# time manager_pid MANAGER START|END\n\n";
    for (const auto& [time, line] : lines)
        text += std::to_string(static_cast<std::int64_t>(time * 1e6)) + " 16444 " + line + "\n";
    return text;
}

std::string outcome(const Attempts& all, std::size_t i) {
    return all.outcomes.at(all.attempts.at(i).outcome);
}

// As CCTools writes them: two blanks, a status client, a task that never ran, and one that was cancelled.
TEST(Transactions, OfCctoolsAreRead) {
    const Attempts all = read(log({
        {10, "MANAGER START"},
        {11, "WORKER worker-a 10.0.0.1:48268  CONNECTION"},
        {11, R"(WORKER worker-a RESOURCES {"cores":[4,"cores"]})"},
        {11.5, "WORKER (null) 127.0.0.1:1 DISCONNECTION STATUS_WORKER"},
        {12, "CATEGORY my_category MAX {}"},
        {12, R"(TASK 1 WAITING my_category FIRST_RESOURCES {"cores":[1,"cores"]})"},
        {12, R"(TASK 2 WAITING default FIRST_RESOURCES {"cores":[1,"cores"]})"},
        {12, R"(TASK 3 WAITING default FIRST_RESOURCES {"cores":[64,"cores"]})"},
        {12, R"(TASK 4 WAITING default FIRST_RESOURCES {"cores":[64,"cores"]})"},
        {14, "TRANSFER INPUT 1 1 0.5 1.000000 data"},
        {14, R"(TASK 1 RUNNING 10.0.0.1:48268  FIRST_RESOURCES {"cores":[1,"cores"]})"},
        {15, R"(TASK 2 RUNNING 10.0.0.1:48268  FIRST_RESOURCES {"cores":[1,"cores"]})"},
        {18, "TASK 1 WAITING_RETRIEVAL 10.0.0.1:48268"},
        {18.5, "TRANSFER OUTPUT 1 0 0.5 0.250000 result"},
        {19, R"(TASK 1 RETRIEVED SUCCESS  0  {} {"cores":[1,"cores"]})"},
        {19, R"(TASK 1 DONE SUCCESS  0  {} {"cores":[1,"cores"]})"},
        {20, "TASK 2 WAITING_RETRIEVAL 10.0.0.1:48268"},
        {20, R"(TASK 2 RETRIEVED SUCCESS  7  {} {})"},
        {20, R"(TASK 2 DONE SUCCESS  7  {} {})"},
        {21, "TASK 3 CANCELED"},
        {22, "WORKER worker-a 10.0.0.1:48268  DISCONNECTION UNKNOWN"},
        {23, "MANAGER END"},
    }));
    ASSERT_EQ(all.attempts.size(), 2U);
    const Attempt& first = all.attempts[0];
    EXPECT_EQ(first.task, 1U);
    EXPECT_EQ(all.categories.at(first.category), "my_category");
    EXPECT_THAT((std::vector{first.waiting, first.input, first.started, first.output, first.ended}),
                ElementsAre(12 * second, 13 * second, 14 * second, 18 * second, 19 * second));
    const Attempt& other = all.attempts[1];
    EXPECT_THAT((std::vector{other.waiting, other.input, other.started, other.output, other.ended}),
                ElementsAre(12 * second, 15 * second, 15 * second, 20 * second, 20 * second));
    EXPECT_EQ(outcome(all, 0), succeeded);
    EXPECT_EQ(outcome(all, 1), "exit 7");
    EXPECT_EQ(first.slot, 0U);
    EXPECT_EQ(other.slot, 1U);
    ASSERT_EQ(all.workers.size(), 1U);
    EXPECT_EQ(all.workers[0].name, "10.0.0.1:48268");
    EXPECT_EQ(all.workers[0].joined, 11 * second);
    EXPECT_EQ(all.workers[0].left, 22 * second);
    EXPECT_EQ(all.workers[0].slots, 2U);
    EXPECT_EQ(all.never_ran, 2U) << "3 and 4";
}

// Ours say RUNNING when a task is dispatched; it may wait there for the end of another.
TEST(Transactions, OfOursAreRead) {
    records::journal::TransactionStamp stamp(16444);
    records::journal::WorkerRecord worker = records::journal::testing::worker_number(3);
    worker.joined_us = 100 * second;
    std::string text(records::journal::transactions_heading());
    records::journal::put_worker_lines(text, stamp, worker);
    for (std::uint64_t i = 0; i < 2; ++i) {
        stamp.append_to(text, 101 * second);
        text += records::journal::task_waiting_text({i, i + 1}, "a b", {1, 800, 500, 0}) + "\n";
        stamp.append_to(text, 101 * second);
        text += records::journal::task_running_text(TaskId(i), worker.address, {1, 800, 500, 0}) + "\n";
    }
    for (std::uint64_t i = 0; i < 2; ++i) {
        records::journal::TaskRecord record = records::journal::testing::record_number(i);
        record.outcome = {};
        record.outcome.wall_us = 2 * second;
        record.received_us = (103 + 2 * static_cast<WallMicros>(i)) * second;
        records::journal::put_task_lines(text, stamp, record, worker.address);
    }
    const Attempts all = read(text);
    ASSERT_EQ(all.attempts.size(), 2U);
    EXPECT_EQ(all.attempts[0].started, 101 * second);
    EXPECT_EQ(all.attempts[1].started, 103 * second);
    EXPECT_EQ(all.attempts[1].ended, 105 * second);
    EXPECT_EQ(all.attempts[1].slot, 0U) << "one after the other";
    EXPECT_THAT(all.categories, ElementsAre("a_b"));
    EXPECT_EQ(all.workers.at(0).left, 105 * second) << "the end of the log";
}

// A worker is lost, then the manager is killed; the next session begins with workers of the same addresses.
TEST(Transactions, OfSeveralSessionsAreRead) {
    const Attempts all = read(log({
        {1, "MANAGER START"},
        {2, "WORKER w1 a:1 CONNECTION"},
        {2, "WORKER w2 b:1 CONNECTION"},
        {3, "TASK 1 WAITING c FIRST_RESOURCES {}"},
        {3, "TASK 1 RUNNING a:1 FIRST_RESOURCES {}"},
        {4, "WORKER w1 a:1 DISCONNECTION FAILURE"},
        {4, "TASK 1 WAITING c FIRST_RESOURCES {}"},
        {5, "TASK 1 RUNNING b:1 FIRST_RESOURCES {}"},
        {6, "TASK 2 WAITING c FIRST_RESOURCES {}"},
        {100, "MANAGER START"},
        {101, "WORKER w1 b:1 CONNECTION"},
        {102, "TASK 1 WAITING c FIRST_RESOURCES {}"},
        {102, "TASK 1 RUNNING b:1 FIRST_RESOURCES {}"},
        {103, "TASK 1 RUNNING c:1 FIRST_RESOURCES {}"},
        {104, "TASK 1 WAITING_RETRIEVAL c:1"},
        {104, "TASK 1 RETRIEVED SIGNAL 9 {} {}"},
        {104, "TASK 1 DONE SIGNAL 9 {} {}"},
        {105, "TASK 3 WAITING c FIRST_RESOURCES {}"},
        {105, "TASK 3 RUNNING b:1 FIRST_RESOURCES {}"},
        {107, "CATEGORY c MAX {}"},
    }));
    ASSERT_EQ(all.workers.size(), 4U);
    EXPECT_EQ(all.workers[0].left, 4 * second);
    EXPECT_EQ(all.workers[1].left, 6 * second) << "the last that its manager wrote";
    EXPECT_EQ(all.workers[2].left, 107 * second);
    ASSERT_EQ(all.attempts.size(), 5U);
    EXPECT_EQ(outcome(all, 0), "lost");
    EXPECT_EQ(all.attempts[0].ended, 4 * second);
    EXPECT_EQ(outcome(all, 1), "lost");
    EXPECT_EQ(all.attempts[1].ended, 6 * second);
    EXPECT_EQ(outcome(all, 2), "not needed") << "of two copies";
    EXPECT_EQ(outcome(all, 3), "signal 9");
    EXPECT_EQ(all.workers[all.attempts[3].worker].name, "c:1");
    EXPECT_EQ(outcome(all, 4), "running");
    EXPECT_EQ(all.never_ran, 0U);
}

TEST(Transactions, OfRangesAreBarsOfCalls) {
    const Attempts all = read(log({
        {1, "WORKER w1 a:1 CONNECTION"},
        {2, "TASK 1-1000 WAITING calls_of_f FIRST_RESOURCES {}"},
        {3,
         R"(TASK 1-400 DONE SUCCESS 0 {} {"cores":[1,"cores"],"tasks":[400,"tasks"],"wall_time":[0.5,"s"]} a:1)"},
        {4, "TASK 401 RUNNING a:1 FIRST_RESOURCES {}"},
        {5, R"(TASK 402-1000 DONE SUCCESS 0 {} {"tasks":[599,"tasks"],"wall_time":[7,"s"]} a:1)"},
        {5, "TASK 401 DONE SUCCESS 1 {} {}"},
    }));
    ASSERT_EQ(all.attempts.size(), 3U);
    EXPECT_EQ(all.attempts[0].calls, 400U);
    EXPECT_EQ(all.attempts[0].started, 2'500'000);
    EXPECT_EQ(all.attempts[1].calls + all.attempts[2].calls, 600U);
    EXPECT_THAT(all.categories, ElementsAre("calls_of_f"));
    EXPECT_THAT(all.workers.size(), 1U);
}

TEST(Transactions, OfTwelveCategoriesWithoutTransfersAreInOrder) {
    std::vector<std::pair<double, std::string>> lines;
    for (int i = 1; i <= 12; ++i) {
        const std::string task = "TASK " + std::to_string(i);
        lines.emplace_back(1, task + " WAITING c" + std::to_string(i) + " FIRST_RESOURCES {}");
        lines.emplace_back(i + 1, task + " RUNNING a:1 FIRST_RESOURCES {}");
        lines.emplace_back(i + 2, task + " DONE SUCCESS 0 {} {}");
    }
    const Attempts all = read(log(lines));
    ASSERT_EQ(all.attempts.size(), 12U);
    EXPECT_EQ(all.categories.size(), 12U);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(all.attempts[i].task, i + 1);
    EXPECT_EQ(all.workers.at(0).slots, 1U);
}

TEST(Transactions, ThatAreDamagedAreRefusedByLine) {
    const std::string good = log({{1, "MANAGER START"}});
    EXPECT_TRUE(read_transactions(good + "2000000 16444 TASK 1 WAI", "log").ok()) << "a torn last line";
    const auto refused = [&](const std::string& text) {
        const auto read = read_transactions(text, "log");
        return read.ok() ? "it was read" : read.error().message;
    };
    EXPECT_THAT(refused(good + "garbage\n"), StartsWith("log:4: no record: "));
    EXPECT_THAT(refused(good + "2 16444 TASK\n"), StartsWith("log:4: a TASK record without a number"));
    EXPECT_THAT(refused(good + "2 16444 TASK 1 RUNNING\n"),
                StartsWith("log:4: a TASK record that is cut off"));
    EXPECT_THAT(refused(good + "2 16444 TRANSFER INPUT x\n"), StartsWith("log:4: a TRANSFER record"));
    EXPECT_THAT(refused(good + "2 16444 WORKER w\n"), StartsWith("log:4: a WORKER record"));
    EXPECT_THAT(refused(good + "99999999999999999999 1 MANAGER START\n"), StartsWith("log:4: no record"));
    EXPECT_THAT(refused(""), HasSubstr("no transactions"));
    EXPECT_THAT(refused("<html>\n<p>\n"), HasSubstr("no transactions"));
}

}  // namespace
}  // namespace wq::views
