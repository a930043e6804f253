#include "manager/report/progress.h"

#include <gtest/gtest.h>

namespace wq::manager::report {
namespace {

engine::model::ManagerStats stats(std::int64_t done, std::int64_t failed, std::int64_t running,
                                  std::int64_t all) {
    engine::model::ManagerStats stats;
    stats.tasks_done = done;
    stats.tasks_failed = failed;
    stats.tasks_running = stats.tasks_on_workers = running;
    stats.tasks_submitted = all;
    stats.tasks_waiting = all - done - running;
    return stats;
}

TEST(AwayText, TellsOfTasksThatGoOnUnseenAndHowLongTheyAreWaitedFor) {
    using namespace std::chrono_literals;
    engine::model::WorkerTable workers;
    const Instant now{1h};
    const auto cut_off = [&](std::uint32_t id, std::uint64_t tasks, Duration left) {
        engine::model::WorkerJoined joined;
        joined.worker = WorkerId(id);
        joined.offers.cores = 2;
        engine::model::Worker& worker = workers.add(joined, now);
        for (std::uint64_t task = 0; task < tasks; ++task) workers.lease(worker, TaskId(100 * id + task), {});
        workers.set_disconnected(worker, now, left, "cut");
    };
    EXPECT_EQ(disconnected_text(workers, now), "");
    cut_off(1, 0, 60s);
    EXPECT_EQ(disconnected_text(workers, now), "");
    cut_off(2, 4, 56500ms);
    EXPECT_EQ(disconnected_text(workers, now), "4 on a disconnected worker (up to 57s to reconnect)");
    cut_off(3, 1, 5s);
    EXPECT_EQ(disconnected_text(workers, now), "5 on 2 disconnected workers (up to 57s to reconnect)");
}

TEST(WorkersText, CountsRanksAndThoseThatJoined) {
    engine::model::WorkerTable workers;
    EXPECT_EQ(workers_text(workers), "0 workers");
    for (std::uint32_t id = 0; id < 5; ++id) {
        engine::model::WorkerJoined joined;
        joined.worker = WorkerId(id);
        joined.watched = id >= 2;
        workers.add(joined, {});
        EXPECT_TRUE(id != 1 || workers_text(workers) == "2 ranks") << workers_text(workers);
    }
    EXPECT_EQ(workers_text(workers), "2 ranks, 3 workers");
    workers.set_disconnected(*workers.find(WorkerId(4)), Instant{}, std::chrono::seconds(60), "cut");
    EXPECT_EQ(workers_text(workers), "2 ranks, 2 workers");
    for (std::uint32_t id = 0; id < 2; ++id) workers.remove(WorkerId(id));
    EXPECT_EQ(workers_text(workers), "2 workers");
}

TEST(ProgressText, SaysWhatIsKnown) {
    using namespace std::chrono_literals;
    EXPECT_EQ(progress_text(stats(415, 3, 2, 1000), Total::known, 2s, 210),
              "412 succeeded, 3 failed, 2 running of 1,000 | 41% | 210/s | 3s left | 2s elapsed");
    EXPECT_EQ(progress_text(stats(10, 0, 1, 5000), Total::grows, 61s, 0.25),
              "10 succeeded, 0 failed, 1 running of 5,000+ | 0.2/s | 1m01s elapsed");
    EXPECT_EQ(progress_text(stats(0, 0, 0, 0), Total::grows, 0s, -1),
              "0 succeeded, 0 failed, 0 running of 0+ | 0s elapsed");
    EXPECT_EQ(progress_text(stats(5, 0, 0, 5), Total::known, 1s, 5),
              "5 succeeded, 0 failed, 0 running of 5 | 100% | 5.0/s | 1s elapsed");
    EXPECT_EQ(progress_text(stats(1, 0, 0, 2), Total::known, 70s, 0.01),  // the other one fits no worker yet
              "1 succeeded, 0 failed, 0 running of 2 | 50% | 1m10s elapsed");
    EXPECT_EQ(progress_text(stats(5, 0, 1, 100), Total::known, 1h, 0.04),
              "5 succeeded, 0 failed, 1 running of 100 | 5% | 1h00m elapsed");
}

TEST(ProgressLine, WritesNothingWhereNothingIsWanted) {
    ProgressLine line(ProgressLine::Style::none, Instant{});
    EXPECT_FALSE(line.wakeup());
    ::testing::internal::CaptureStderr();
    line.update(stats(1, 0, 0, 2), Total::known, 1, {}, Instant{} + std::chrono::hours(1));
    line.finish(stats(2, 0, 0, 2), 2, Instant{} + std::chrono::hours(1));
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressLine, IsAPlainLineEveryTenSecondsAtFirstAndAMinuteLater) {
    ProgressLine line(ProgressLine::Style::now_and_then, Instant{});
    ::testing::internal::CaptureStderr();
    for (unsigned second = 0; second <= 185; ++second)
        line.update(stats(700 + second, 0, 1, 1000), Total::known, second, {"", "2 ranks"},
                    Instant{} + std::chrono::seconds(second));
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6 + 2);
    EXPECT_EQ(text.find('\r'), std::string::npos);
    EXPECT_NE(text.find("work_queue_run: 760 succeeded"), std::string::npos) << text;
    EXPECT_NE(text.find(" | 1.0/s | "), std::string::npos) << "without those of an earlier run: " << text;
    EXPECT_NE(text.find("elapsed | 2 ranks\n"), std::string::npos) << text;
}

TEST(ProgressLine, AlwaysIsAPlainLineASecondAndTheLastState) {
    ProgressLine line(ProgressLine::Style::every_second, Instant{});
    ::testing::internal::CaptureStderr();
    for (unsigned tenth = 0; tenth <= 35; ++tenth)
        line.update(stats(tenth, 0, 1, 36), Total::known, tenth, {},
                    Instant{} + std::chrono::milliseconds(100 * tenth));
    line.finish(stats(36, 0, 0, 36), 36, Instant{} + std::chrono::milliseconds(3600));
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
    EXPECT_EQ(text.find('\r'), std::string::npos);
    EXPECT_NE(text.find("work_queue_run: 36 succeeded, 0 failed"), std::string::npos) << text;
}

TEST(ProgressLine, IsRewrittenOnATerminalAndKeptApartFromText) {
    ProgressLine line(ProgressLine::Style::rewritten, Instant{});
    ::testing::internal::CaptureStderr();
    line.update(stats(1, 0, 1, 10), Total::known, 1, {}, Instant{} + std::chrono::seconds(1));
    line.print_line("a remark");
    line.finish(stats(10, 0, 0, 10), 10, Instant{} + std::chrono::seconds(2));
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find("\r\033[K1 succeeded"), 0u) << text;
    EXPECT_NE(text.find("\r\033[Kwork_queue_run: a remark\n"), std::string::npos);
    EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace wq::manager::report
