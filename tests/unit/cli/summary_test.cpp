#include "cli/summary.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace wq::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SummaryTest : public ::testing::Test {
  protected:
    SummaryTest() {
        summary_.failures = &failures_;
        summary_.run_directory = "tasks.sh.wq";
        summary_.seconds = 12;
        summary_.stats.workers_joined = 2;
        set_tasks(10, 0);
    }
    void set_tasks(std::int64_t done, std::int64_t failed) {
        summary_.stats.tasks_submitted = summary_.stats.tasks_done = done;
        summary_.stats.tasks_failed = failed;
    }
    app::Failures failures_;
    Summary summary_;
};

TEST_F(SummaryTest, OfAGoodRunIsShort) {
    EXPECT_EQ(summary_text(summary_),
              "10 tasks done, 0 failed in 12s on 2 workers\nResults and statistics: tasks.sh.wq\n");
}

TEST_F(SummaryTest, SaysWhatIsLeftAndHowToGoOn) {
    summary_.stats.tasks_submitted = 20;
    summary_.stats.tasks_waiting = 9;
    summary_.stats.tasks_on_workers = 1;
    summary_.stats.workers_lost = 1;
    summary_.stopped = core::StopReason::interrupted;
    summary_.code = ExitCode::interrupted;
    summary_.resume_command = "work_queue_run --resume tasks.sh";
    EXPECT_EQ(summary_text(summary_),
              "10 tasks done, 0 failed, 10 not run in 12s on 2 workers (1 lost)\nThe run was stopped: "
              "interrupted.\n"
              "Results and statistics: tasks.sh.wq\nTo go on: work_queue_run --resume tasks.sh\n");
}

TEST_F(SummaryTest, OfBytesThatAreNoTextIsStillJson) {
    app::FailureExample example;
    example.command = "cat \xFF\x01";
    example.stderr_tail = "\xC3\n\"quoted\"";
    example.outcome.exit_code = 1;
    failures_.add(example);
    set_tasks(10, 1);
    const auto json = nlohmann::json::parse(summary_json(summary_));
    EXPECT_EQ(json["tasks"]["succeeded"], 9);
    EXPECT_EQ(json["failures"][0]["task"], 1);
    EXPECT_THAT(json["failures"][0]["stderr_tail"].get<std::string>(), HasSubstr("\"quoted\""));
    EXPECT_THAT(summary_text(summary_), Not(HasSubstr("\x01")))
        << "control bytes of a command do not reach the terminal";
}

TEST_F(SummaryTest, NamesFilesOfPlotsAndFailures) {
    set_tasks(10, 2);
    failures_.skip({"needs 99 cores", 3, 7, TaskId(6)});
    summary_.skipped = 3;
    summary_.plots = {"a.png", "b.png"};
    const std::string text = summary_text(summary_);
    EXPECT_THAT(text, HasSubstr("2 tasks failed in an earlier run; --resume-failed"));
    EXPECT_THAT(text, HasSubstr("8 tasks done, 2 failed, 3 can never run"));
    EXPECT_THAT(text, HasSubstr("  3 tasks from line 7 on: needs 99 cores\n"));
    EXPECT_THAT(text, HasSubstr("Failed lines: tasks.sh.wq/failed.sh\n"));
    EXPECT_THAT(text, HasSubstr("Plot: a.png\nPlot: b.png\n"));
}

}  // namespace
}  // namespace wq::cli
