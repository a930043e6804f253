#include "manager/report/summary.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace wq::manager::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SummaryTest : public ::testing::Test {
  protected:
    SummaryTest() {
        summary_.failures = &failures_;
        summary_.run_directory = "tasks.sh.wq";
        summary_.started.command_line = {"work_queue_run", "tasks.sh"};
        summary_.seconds = 12;
        summary_.stats.workers_joined = 2;
        set_tasks(10, 0);
    }
    void set_tasks(std::int64_t done, std::int64_t failed) {
        summary_.stats.tasks_submitted = summary_.stats.tasks_done = done;
        summary_.stats.tasks_failed = failed;
    }
    manager::Failures failures_;
    Summary summary_;
};

TEST_F(SummaryTest, OfAGoodRunIsShort) {
    EXPECT_EQ(summary_text(summary_),
              "10 tasks succeeded, 0 failed in 12s on 2 workers\nResults and statistics: tasks.sh.wq\n");
}

TEST_F(SummaryTest, TellsApartWhatAnEarlierRunDid) {
    summary_.succeeded_earlier = 4;
    EXPECT_THAT(summary_text(summary_),
                StartsWith("10 tasks succeeded (4 of them in an earlier run), 0 failed in"));
    EXPECT_EQ(nlohmann::json::parse(summary_json(summary_))["succeeded_earlier"], 4);
    summary_.succeeded_earlier = 10;
    EXPECT_THAT(summary_text(summary_), StartsWith("10 tasks succeeded (in an earlier run), 0 failed in"));
}

TEST_F(SummaryTest, SaysWhatIsLeftAndHowToGoOn) {
    summary_.stats.tasks_submitted = 20;
    summary_.stats.tasks_waiting = 9;
    summary_.stats.tasks_on_workers = 1;
    summary_.stats.workers_lost = 1;
    summary_.stopped = engine::model::StopReason::interrupted;
    summary_.code = ExitCode::interrupted;
    EXPECT_EQ(summary_text(summary_),
              "10 tasks succeeded, 0 failed, 10 not run in 12s on 2 workers (1 lost)\nThe run was stopped: "
              "interrupted.\n"
              "Results and statistics: tasks.sh.wq\nTo continue, run: work_queue_run --resume tasks.sh\n");
}

TEST_F(SummaryTest, AJobInWhichNoTaskSucceededWasTooShort) {
    set_tasks(10, 2);
    summary_.stats.tasks_submitted = 20;
    summary_.stopped = engine::model::StopReason::out_of_time;
    summary_.code = ExitCode::interrupted;
    summary_.started.by_job_script = true;
    EXPECT_THAT(summary_text(summary_), AllOf(Not(HasSubstr("No task succeeded")),
                                              HasSubstr("tasks.sh, unless it requeues itself\n")));
    summary_.succeeded_earlier = 8;
    EXPECT_THAT(summary_text(summary_),
                HasSubstr("out of time.\nNo task succeeded: give a longer time limit"));
}

TEST_F(SummaryTest, HasATableOfCategories) {
    summary_.categories = {{"analysis", 216, 784, 54, "4", "~1011", "~3502"},
                           {"a_long_name", 0, 25, 54, ">1", "~503", ">243"}};
    EXPECT_THAT(summary_text(summary_),
                HasSubstr("\n"
                          "CATEGORY    RUNNING WAITING FIT-WORKERS MAX-CORES MAX-MEMORY MAX-DISK\n"
                          "analysis        216     784          54         4      ~1011    ~3502\n"
                          "a_long_name       0      25          54        >1       ~503     >243\n"));
    const auto json = nlohmann::json::parse(summary_json(summary_));
    EXPECT_EQ(json["categories"][0]["max_memory"], "~1011");
    EXPECT_EQ(json["categories"][1]["waiting"], 25);
}

TEST_F(SummaryTest, WhatCouldNotBeRecordedIsNotDone) {
    set_tasks(18, 0);
    summary_.stats.tasks_submitted = 60;
    summary_.unrecorded = 8;
    EXPECT_THAT(summary_text(summary_),
                HasSubstr("18 tasks succeeded, 0 failed, 8 ended but could not be recorded in"));
    EXPECT_THAT(summary_text(summary_), HasSubstr("--resume runs unrecorded tasks again.\n"));
    EXPECT_EQ(nlohmann::json::parse(summary_json(summary_))["tasks"]["not_recorded"], 8);
}

TEST_F(SummaryTest, OfBytesThatAreNoTextIsStillJson) {
    manager::FailureExample example;
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
    failures_.skip({"needs 99 cores", "the largest have 4", 3, 7, TaskId(6)});
    summary_.skipped = 3;
    summary_.plots = {"tasks.sh.wq/plots/a.png", "tasks.sh.wq/plots/b.png"};
    const std::string text = summary_text(summary_);
    EXPECT_THAT(text, HasSubstr("2 tasks failed in an earlier run; --resume-failed"));
    EXPECT_THAT(text, HasSubstr("8 tasks succeeded, 2 failed, 3 can never run"));
    EXPECT_THAT(text, HasSubstr("Can never run:\n  3 tasks, the first task 7: needs 99 cores\n"))
        << "the log had the rest";
    EXPECT_THAT(text, HasSubstr("Failed lines: tasks.sh.wq/failed.sh\n"));
    EXPECT_LT(text.find("Plots: tasks.sh.wq/plots\n"), text.find("Can never run"));
    EXPECT_THAT(text, Not(HasSubstr("a.png")));
    EXPECT_THAT(text,
                HasSubstr("To retry, fix the failures and run: work_queue_run --resume-failed tasks.sh (also "
                          "runs the 3 that could not run)\n"));
}

TEST_F(SummaryTest, ShowsAFailureByItsTaskAndItsBareCommand) {
    manager::FailureExample example;
    example.task = TaskId(180);
    example.line = 182;
    example.command = "echo 'bad 30' >&2; exit 3";
    example.outcome.exit_code = 3;
    failures_.add(example);
    set_tasks(10, 1);
    EXPECT_THAT(summary_text(summary_),
                HasSubstr("  task 181 (line 182): exit 3\n      echo 'bad 30' >&2; exit 3\n"));
    EXPECT_THAT(summary_text(summary_),
                HasSubstr("To retry, fix the failures and run: work_queue_run --resume-failed tasks.sh\n"));
}

TEST_F(SummaryTest, SaysWhenOutputWasCut) {
    EXPECT_THAT(summary_text(summary_), Not(HasSubstr("--output-limit")));
    summary_.outputs_truncated = 1;
    summary_.output_limit = 8u << 20;
    EXPECT_THAT(summary_text(summary_),
                HasSubstr("Output of 1 task was cut at 8.0 MiB; --output-limit keeps more\n"));
    EXPECT_EQ(nlohmann::json::parse(summary_json(summary_))["output_cut"], 1);
}

TEST_F(SummaryTest, SaysThatAListIsEmpty) {
    set_tasks(0, 0);
    EXPECT_THAT(summary_text(summary_), HasSubstr("the list has no tasks"));
}

TEST_F(SummaryTest, OfWhatOnlyCannotRunNeedsNoFailedTasks) {
    failures_.skip({"needs 99 cores", "", 3, 7, TaskId(6)});
    summary_.skipped = 3;
    EXPECT_THAT(summary_text(summary_), HasSubstr("To continue, fix what prevents tasks from running, and "
                                                  "run: work_queue_run --resume tasks.sh\n"));
}

TEST(CommandToGoOn, HasTheOptionOnceAndLeavesTheUsersCommandAlone) {
    EXPECT_EQ(how_to_go_on_with({{"wq", "--resume", "a b.sh"}, ""}, "--resume"), "run: wq --resume 'a b.sh'");
    EXPECT_EQ(how_to_go_on_with({{"wq", "--resume-failed", "a"}, ""}, "--resume"),
              "run: wq --resume-failed a");
    EXPECT_EQ(how_to_go_on_with({{"wq", "--resume", "a"}, ""}, "--resume-failed"),
              "run: wq --resume-failed a");
    EXPECT_EQ(how_to_go_on_with({{"wq", "--array", "1", "--", "x", "--resume"}, ""}, "--resume"),
              "run: wq --resume --array 1 -- x --resume");
    EXPECT_EQ(how_to_go_on_with({{"wq", "a"}, "mpirun"}, "--resume"),
              "run: the same mpirun command with wq --resume a");
}

TEST(CommandToGoOn, InABatchJobIsTheJobScript) {
    EXPECT_EQ(how_to_go_on_with({{"wq", "--resume", "a"}, "srun", true}, "--resume"),
              "submit the job script again");
    EXPECT_EQ(how_to_go_on_with({{"wq", "a"}, "srun", true}, "--resume"),
              "submit the job script again, with wq --resume a");
}

}  // namespace
}  // namespace wq::manager::report
