// How each way to end is told to a program: by the results and names of Work Queue.
#include "api/translation.h"

#include <gtest/gtest.h>

#include <set>

namespace wq::api {
namespace {

using engine::model::Ending;

struct Row {
    Ending ending;
    TaskResult result;
    const char* name;
    int number;
    int return_status;
    int exit_status;
};

// The outcome has exit code 7 and signal 11, so that each row shows which of them is told.
constexpr Row rows[] = {
    {Ending::exited, TaskResult::success, "SUCCESS", 0, 7, 7},
    {Ending::signalled, TaskResult::signal, "SIGNAL", 8, 11, 0},
    {Ending::timed_out, TaskResult::max_running_time, "MAX_WALL_TIME", 56, 9, 0},
    {Ending::out_of_memory, TaskResult::resource_exhaustion, "RESOURCE_EXHAUSTION", 16, 9, 0},
    {Ending::not_started, TaskResult::success, "SUCCESS", 0, 7, 7},
    {Ending::killed, TaskResult::forsaken, "FORSAKEN", 40, 9, 0},
    {Ending::worker_lost, TaskResult::max_retries, "MAX_RETRIES", 48, -1, 0},
    {Ending::never_ran, TaskResult::forsaken, "FORSAKEN", 40, -1, 0},
    {Ending::raised, TaskResult::success, "SUCCESS", 0, 7, 7},
    {Ending::expired, TaskResult::task_timeout, "END_TIME", 24, 9, 0},
    {Ending::input_missing, TaskResult::input_missing, "INPUT_MISS", 1, 7, 0},
    {Ending::output_missing, TaskResult::output_missing, "OUTPUT_MISS", 2, 7, 0},
    {Ending::disk_full, TaskResult::disk_full, "DISK_FULL", 64, -1, 0},
    {Ending::not_transferred, TaskResult::output_transfer_error, "OUTPUT_TRANSFER_ERROR", 80, 7, 0},
    {Ending::too_slow, TaskResult::max_retries, "MAX_RETRIES", 48, 9, 0},
    {Ending::exhausted, TaskResult::resource_exhaustion, "RESOURCE_EXHAUSTION", 16, 9, 0},
};

TEST(Outcomes, EveryEndingIsAResultOfTheManual) {
    std::set<Ending> told;
    for (const Row& row : rows) {
        engine::model::Outcome outcome;
        outcome.ending = row.ending;
        outcome.exit_code = 7;
        outcome.signal = 11;
        outcome.started_us = 1;
        TaskReport report;
        describe_end(outcome, TaskKind::command, report);
        const char* const name = engine::model::name_of(row.ending);
        EXPECT_EQ(report.result, row.result) << name;
        EXPECT_STREQ(result_str(report.result), row.name) << name;
        EXPECT_EQ(static_cast<int>(report.result), row.number) << name;
        EXPECT_EQ(report.return_status, row.return_status) << name;
        EXPECT_EQ(report.exit_status, row.exit_status) << name;
        EXPECT_FALSE(report.reason.empty()) << name << ": what failed has a reason";
        told.insert(row.ending);
    }
    EXPECT_EQ(told.size(), engine::model::ending_count) << "an ending is missing here";
}

// Those that no ending brings about, too: the numbers are the manual's.
TEST(Outcomes, EveryResultHasItsNameAndNumber) {
    const std::pair<int, const char*> all[] = {{0, "SUCCESS"},        {1, "INPUT_MISS"},
                                               {2, "OUTPUT_MISS"},    {4, "STDOUT_MISS"},
                                               {8, "SIGNAL"},         {16, "RESOURCE_EXHAUSTION"},
                                               {24, "END_TIME"},      {32, "UNKNOWN"},
                                               {40, "FORSAKEN"},      {48, "MAX_RETRIES"},
                                               {56, "MAX_WALL_TIME"}, {64, "DISK_FULL"},
                                               {72, "MONITOR_ERROR"}, {80, "OUTPUT_TRANSFER_ERROR"}};
    for (const auto& [number, name] : all) EXPECT_STREQ(result_str(TaskResult{number}), name) << number;
}

TEST(Outcomes, DeathsBySignalAreToldAsSuch) {
    engine::model::Outcome outcome;
    outcome.ending = Ending::signalled;
    outcome.signal = 9;
    TaskReport report;
    describe_end(outcome, TaskKind::command, report);
    EXPECT_EQ(report.reason, "signal 9 (SIGKILL)");
    EXPECT_EQ(report.return_status, 9);
    outcome.signal = 40;  // of real time: it has no name
    report = {};
    describe_end(outcome, TaskKind::command, report);
    EXPECT_EQ(report.reason, "signal 40");
}

TEST(Outcomes, AFunctionThatItsWorkerLacksHasNotRun) {
    engine::model::Outcome outcome;
    outcome.ending = Ending::not_started;
    outcome.exit_code = 127;
    TaskReport report;
    describe_end(outcome, TaskKind::call, report);
    EXPECT_EQ(report.result, TaskResult::unknown);
    EXPECT_EQ(report.return_status, 127);
}

// Its folder could not be entered, say; a command that was tried has its row above.
TEST(Outcomes, ACommandThatWasNotTriedHasNotRun) {
    engine::model::Outcome outcome;
    outcome.ending = Ending::not_started;
    outcome.exit_code = 126;
    outcome.reason = "cannot enter 'x'";
    TaskReport report;
    describe_end(outcome, TaskKind::command, report);
    EXPECT_EQ(report.result, TaskResult::unknown);
    EXPECT_EQ(report.return_status, -1);
    EXPECT_EQ(report.reason, "cannot enter 'x'");
}

TEST(Outcomes, WhatSucceededHasNoReason) {
    TaskReport report;
    describe_end({}, TaskKind::command, report);
    EXPECT_EQ(report.reason, "");
    EXPECT_EQ(report.result, TaskResult::success);
}

}  // namespace
}  // namespace wq::api
