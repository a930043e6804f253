#include "views/model/account.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/model/allocation.h"
#include "unit/views/model/random_run.h"
#include "unit/views/model/simple_account.h"

namespace wq::views::model {
namespace {

using engine::model::Ending;
using engine::model::Needs;
using engine::model::WaitReason;
using records::journal::WorkerChange;
using testing::Clocks;
using testing::random_run;
using testing::simple_account;

// Lines that are not 0, in thousandths of a core times microseconds.
std::map<std::string, std::int64_t> lines_of(const Account& account) {
    std::map<std::string, std::int64_t> lines;
    for (std::size_t line = 0; line < account_line_count; ++line)
        if (account.lines[line] != 0)
            lines[name_of(static_cast<AccountLine>(line))] = static_cast<std::int64_t>(account.lines[line]);
    return lines;
}

CoreTime sum_of(const Account& account) {
    CoreTime sum = 0;
    for (const CoreTime line : account.lines) sum += line;
    return sum;
}

using Lines = std::map<std::string, std::int64_t>;

RunWorker worker_with(std::int64_t cores, WallMicros joined, WallMicros left) {
    RunWorker worker;
    worker.cores = cores * 1000;
    worker.memory_mb = 1000 * cores;
    worker.disk_mb = 5000;
    worker.joined = joined;
    worker.left = left;
    return worker;
}

RunAttempt success(std::uint64_t task, WallMicros ready, WallMicros dispatched, WallMicros received) {
    RunAttempt attempt;
    attempt.task = task;
    attempt.submitted = attempt.ready = ready;
    attempt.dispatched = attempt.started = dispatched;
    attempt.ended = attempt.received = received;
    attempt.wall_us = received - dispatched;
    attempt.cpu_us = attempt.wall_us;
    attempt.cores = 1000;
    attempt.memory_mb = 100;
    attempt.worker = 0;
    attempt.ask = 0;
    attempt.is_accepted = true;
    return attempt;
}

RunAsk ask_of(const Needs& needs) {
    return {needs, ""};
}

// One worker with 2 cores from 100 to 1100, and an ask of one core.
RunView small_run() {
    RunView run;
    run.begin = 100, run.end = 1100;
    run.workers = {worker_with(2, 100, 1100)};
    run.asks = {ask_of({1, 100})};
    return run;
}

Account checked(const RunView& run) {
    const Account account = account_of(run);
    EXPECT_TRUE(sum_of(account) == account.offered);
    EXPECT_TRUE(account.offered == offered_by(run.workers, run));
    CoreTime lost = 0;
    for (const CoreTime one : account.lost_by_ending) lost += one;
    EXPECT_TRUE(lost == account.at(AccountLine::lost));
    return account;
}

TEST(Account, DividesWhatASuccessHeld) {
    RunView run = small_run();
    RunAttempt attempt = success(1, 100, 100, 1100);
    attempt.inputs_there = 200, attempt.started = 250;
    attempt.ended = 850, attempt.outputs_there = 1050;
    attempt.cpu_us = 300;
    attempt.disk_wait = 200;
    run.attempts = {attempt};
    const Account account = checked(run);
    EXPECT_EQ(lines_of(account), (Lines{{"files_in", 100'000},
                                        {"start_and_report", 50'000 + 50'000},
                                        {"useful", 300'000},
                                        {"waited_for_files", 60'000},
                                        {"idle_in_tasks", 240'000},
                                        {"files_out", 200'000},
                                        {"tail", 1'000'000}}));
    EXPECT_TRUE(account.idle_not_sampled == 0);
}

TEST(Account, ShowsProcessorTimeAboveTheAllocationBesideTheSum) {
    RunView run = small_run();
    run.attempts = {success(1, 100, 100, 1100)};
    run.attempts[0].cpu_us = 1600;
    const Account account = checked(run);
    EXPECT_EQ(lines_of(account), (Lines{{"useful", 1'000'000}, {"tail", 1'000'000}}));
    EXPECT_TRUE(account.above_allocation == 600'000);
}

TEST(Account, SaysWhatWasNotSampledAndWhatIsNotKnown) {
    RunView run = small_run();
    run.attempts = {success(1, 100, 100, 1100), success(2, 100, 100, 1100)};
    run.attempts[0].cpu_us = 400;
    run.attempts[1].cpu_us = not_recorded;
    const Account account = checked(run);
    EXPECT_EQ(lines_of(account),
              (Lines{{"useful", 400'000}, {"idle_in_tasks", 600'000}, {"unknown", 1'000'000}}));
    EXPECT_TRUE(account.idle_not_sampled == 600'000);
}

TEST(Account, CountsAllThatAFailureHeldAsLost) {
    RunView run = small_run();
    RunAttempt failed = success(1, 100, 100, 600);
    failed.inputs_there = 200, failed.started = 200, failed.ended = 500;
    failed.is_accepted = failed.is_final = false;
    failed.ending = Ending::out_of_memory;
    run.attempts = {failed, success(1, 700, 700, 1100)};
    run.attempts[1].attempt = 2;
    run.attempts[1].submitted = 100;
    const Account account = checked(run);
    EXPECT_EQ(lines_of(account), (Lines{{"lost", 500'000},
                                        {"useful", 400'000},
                                        {"tail", 900'000},
                                        {"waits_for_limits", 200'000}}));  // the pause before it ran again
    EXPECT_TRUE(account.lost_by_ending[static_cast<std::size_t>(Ending::out_of_memory)] == 500'000);
}

TEST(Account, KnowsWhatRunsNow) {
    RunView run = small_run();
    RunAttempt attempt = success(1, 100, 200, 0);
    attempt.started = 300, attempt.ended = 0;
    attempt.is_accepted = false;
    run.attempts = {attempt};
    run.is_live = true;
    run.workers[0].left = 0;
    EXPECT_EQ(
        lines_of(checked(run)),
        (Lines{
            {"dispatch", 200'000}, {"start_and_report", 100'000}, {"running", 800'000}, {"tail", 900'000}}));
}

TEST(Account, SharesCoresInProportionAndLetsLeasesWait) {
    RunView run = small_run();
    for (std::uint64_t task = 1; task <= 3; ++task) {
        run.attempts.push_back(success(task, 100, 100, 400));
        run.attempts.back().cores = 1500;
    }
    // Two wait in the worker: the first gets the core that a third leaves.
    for (std::uint64_t task = 4; task <= 5; ++task) {
        run.attempts.push_back(success(task, 100, 100, 1100));
        run.attempts.back().started = 700;
        run.attempts.back().cpu_us = 0;
        run.attempts.back().cores = 2000;
    }
    const Account account = checked(run);
    EXPECT_EQ(lines_of(account),
              (Lines{{"useful", 600'000}, {"start_and_report", 600'000}, {"idle_in_tasks", 800'000}}));
    EXPECT_TRUE(account.above_allocation == 300'000);
}

// One attempt ran to its end and has a record; another one runs, which only the samples know.
RunView run_with_a_task_without_record() {
    RunView run = small_run();
    run.sessions = {{100, 1100}};
    run.attempts = {success(1, 100, 100, 500)};
    for (const WallMicros time : {100, 300, 500, 1100}) {
        RunSample sample{time, {}};
        sample.stats.tasks_running = sample.stats.committed_cores = time == 300 ? 2 : 1;
        run.samples.push_back(sample);
    }
    return run;
}

TEST(Account, KnowsByTheSamplesThatTasksRun) {
    RunView run = run_with_a_task_without_record();
    run.is_live = true;
    const Account account = checked(run);
    // From 300 on; until then the other core is free.
    EXPECT_TRUE(account.at(AccountLine::running) == 1000 * 800);
    EXPECT_TRUE(account.at(AccountLine::useful) == 1000 * 400);
    EXPECT_TRUE(account.at(AccountLine::dispatch) == 0);
}

TEST(Account, CountsWhatRanWhenTheManagerWasKilledAsLost) {
    const Account account = checked(run_with_a_task_without_record());
    EXPECT_TRUE(account.at(AccountLine::running) == 0);
    EXPECT_TRUE(account.at(AccountLine::lost) == 1000 * 800);
    EXPECT_TRUE(account.lost_by_ending[static_cast<std::size_t>(Ending::killed)] == 1000 * 800);
}

TEST(Account, NeedsNoSamplesOfASessionThatEnded) {
    RunView run = run_with_a_task_without_record();
    run.samples.back().stats.tasks_running = 0;
    const Account account = checked(run);
    EXPECT_TRUE(account.at(AccountLine::lost) == 0);
    EXPECT_TRUE(account.at(AccountLine::running) == 0);
}

TEST(Account, KnowsStatesOfWorkers) {
    RunView run = small_run();
    RunWorker& worker = run.workers[0];
    worker.job = "4711";
    run.begin = 20;
    worker.job_started = 50, worker.process_started = 80;
    worker.allocated_cores = 5000;
    worker.changes = {{200, WorkerChange::disconnected, ""}, {300, WorkerChange::back, ""},
                      {300, WorkerChange::excluded, ""},     {450, WorkerChange::admitted, ""},
                      {500, WorkerChange::draining, ""},     {600, WorkerChange::stays, ""}};
    run.attempts = {success(1, 100, 100, 1100)};
    const Account account = checked(run);
    EXPECT_EQ(lines_of(account), (Lines{{"useful", 1'000'000},
                                        {"starting", 100'000},
                                        {"disconnected", 100'000},
                                        {"excluded", 150'000},
                                        {"draining", 100'000},
                                        {"tail", 650'000}}));
    EXPECT_TRUE(account.not_offered == 3000 * 1050);
}

TEST(Account, CountsNoTimeOfABatchJobTwice) {
    RunView run = small_run();
    run.begin = 50;  // what the job did before is not this run's
    run.workers = {worker_with(2, 100, 400), worker_with(2, 600, 1100), worker_with(2, 150, 1100)};
    for (RunWorker& worker : run.workers) {
        worker.host = "node1";
        worker.job = "4711";
        worker.job_started = 10;
        worker.allocated_cores = 4000;
    }
    const Account account = checked(run);
    EXPECT_TRUE(account.offered == 2000 * (350 + 700 + 1050));
    EXPECT_EQ(lines_of(account).at("starting"), 2000 * (50 + 200 + 100));
    EXPECT_TRUE(account.not_offered == 0);
}

TEST(Account, CountsNoTimeOfAProcessTwiceThatJoinsTwice) {
    RunView run = small_run();
    run.begin = 1;
    run.end = 9'000'000;
    run.workers = {worker_with(2, 1'000'100, 4'000'000), worker_with(2, 6'000'000, 9'000'000)};
    run.workers[0].process_started = 1'000'000;
    run.workers[1].process_started = 1'000'017;  // computed again when it joined the resumed run
    const Account account = checked(run);
    EXPECT_TRUE(account.offered == CoreTime{2000} * 8'000'000);
}

TEST(Account, CountsNoTimeBetweenSessions) {
    RunView run = small_run();
    run.sessions = {{100, 400}, {900, 1100}};
    run.workers = {worker_with(2, 150, 400), worker_with(2, 950, 1100), worker_with(2, 950, 1100)};
    run.workers[0].job_started = 10, run.workers[0].job = "1";
    run.workers[1].job_started = 600, run.workers[1].job = "2";  // it served another run
    run.workers[2].process_started = 50;
    const Account account = checked(run);
    EXPECT_TRUE(account.offered == 2000 * (300 + 200 + 200));
    EXPECT_EQ(lines_of(account).at("starting"), 2000 * (50 + 50 + 50));
}

TEST(Account, TellsWhyNoTaskIsReady) {
    RunView run = small_run();
    run.workers = {worker_with(1, 100, 1100)};
    run.attempts = {success(1, 400, 400, 500), success(2, 900, 900, 1000)};
    run.attempts[1].submitted = 400;
    run.waiting = {{100, 1, no_place, WaitReason::program},    {300, 0, no_place, WaitReason::program},
                   {410, 1, no_place, WaitReason::tasks},      {600, 0, no_place, WaitReason::tasks},
                   {600, 1, no_place, WaitReason::start_time}, {700, 0, no_place, WaitReason::start_time},
                   {800, 1, no_place, WaitReason::storage},    {850, 0, no_place, WaitReason::storage}};
    EXPECT_EQ(lines_of(checked(run)),
              (Lines{{"waits_for_program", 300'000},
                     {"useful", 200'000},
                     // Seen until 600, and by no sample from 700 to 800 and after 850.
                     {"waits_for_tasks", 100'000 + 100'000 + 50'000},
                     {"waits_for_limits", 100'000},
                     {"manager", 50'000},
                     {"after_the_end", 100'000}}));
}

TEST(Account, KnowsLimitsOfRunningTasks) {
    RunView run = small_run();
    run.attempts = {success(1, 100, 100, 600), success(2, 100, 600, 1100)};
    run.waiting = {{100, 1, 0, WaitReason::limit}, {620, 0, 0, WaitReason::limit}};
    EXPECT_EQ(lines_of(checked(run)),
              (Lines{{"useful", 1'000'000}, {"waits_for_limits", 500'000}, {"tail", 500'000}}));
}

TEST(Account, KnowsARunThatWaitsForMoreWorkers) {
    RunView run = small_run();
    run.waiting = {
        {50, 7, 0, WaitReason::no_worker}, {900, 0, 0, WaitReason::no_worker}, {900, 7, 0, WaitReason::busy}};
    run.samples = {{50, {}}, {300, {}}, {900, {}}};
    EXPECT_EQ(lines_of(checked(run)), (Lines{{"dispatch", 2 * (200'000 + 200'000)}, {"manager", 1'200'000}}));
}

TEST(Account, NamesTheResourceThatIsShort) {
    struct Case {
        Needs needs;
        const char* line;
    };
    for (const Case& one : {Case{{1, 1900}, "packing_memory_held"}, Case{{2, 100}, "packing_cores"},
                            Case{{1, 100, 4900}, "packing_disk"}, Case{{1, 100, -1, 1}, "packing_gpus"},
                            Case{{1, 100, 100}, "dispatch"}, Case{{4, 100}, "fits_nowhere"},
                            Case{{1, 100, -1, 2}, "fits_nowhere"}, Case{{}, "packing_memory_held"}}) {
        RunView run = small_run();
        run.workers[0].gpus = 1000;
        run.asks = {ask_of(one.needs)};
        run.attempts = {success(1, 100, 100, 1100)};
        run.attempts[0].memory_mb = 500, run.attempts[0].memory_peak_mb = 0;
        run.attempts[0].disk_mb = 500, run.attempts[0].gpus = 1000;
        run.waiting = {{100, 3, 0, WaitReason::busy}};
        EXPECT_EQ(lines_of(checked(run)), (Lines{{"useful", 1'000'000}, {one.line, 1'000'000}})) << one.line;
        run.attempts[0].memory_peak_mb = 450;
        const std::string line = one.line;
        EXPECT_EQ(lines_of(checked(run)).count(line == "packing_memory_held" ? "packing_memory" : line), 1u);
    }
}

TEST(Account, GivesTheFirstLineOfSeveralAsks) {
    RunView run = small_run();
    run.asks = {ask_of({9, 1}), ask_of({2, 100}), ask_of({1, 1950})};
    run.attempts = {success(1, 100, 100, 1100)};
    run.waiting = {{100, 1, 0, WaitReason::nowhere},
                   {200, 1, 1, WaitReason::busy},
                   {300, 1, 2, WaitReason::busy},
                   {400, 0, 2, WaitReason::busy},
                   {500, 0, 1, WaitReason::busy}};
    EXPECT_EQ(lines_of(checked(run)), (Lines{{"useful", 1'000'000},
                                             {"fits_nowhere", 100'000 + 600'000},
                                             {"packing_cores", 200'000},
                                             {"packing_memory", 100'000}}));
}

TEST(Account, KnowsCoprocessesWhereTheyAreRecorded) {
    RunView run = small_run();
    Needs remote;
    remote.coprocesses = 1;
    run.asks = {ask_of(remote)};
    run.attempts = {success(1, 100, 100, 1100)};
    run.attempts[0].cores = 0;
    run.waiting = {{100, 1, 0, WaitReason::busy}};
    EXPECT_EQ(lines_of(checked(run)), (Lines{{"unknown", 2'000'000}}));
    run.workers[0].coprocesses = 1;
    EXPECT_EQ(lines_of(checked(run)), (Lines{{"packing_coprocesses", 2'000'000}}));
    run.workers[0].coprocesses = 2;
    EXPECT_EQ(lines_of(checked(run)), (Lines{{"dispatch", 2'000'000}}));
    run.workers[0].coprocesses = 0;
    EXPECT_EQ(lines_of(checked(run)), (Lines{{"fits_nowhere", 2'000'000}}));
}

// What features a worker has is not recorded; but it has those of the tasks that it got.
TEST(Account, KnowsFeaturesByTheTasksThatRan) {
    RunView run = small_run();
    run.workers.push_back(worker_with(1, 100, 1100));
    run.asks[0].features = "big";
    run.attempts = {success(1, 100, 300, 1100)};
    run.waiting = {{100, 9, 0, WaitReason::busy}};
    EXPECT_EQ(lines_of(checked(run)),
              (Lines{{"useful", 800'000}, {"dispatch", 1'200'000}, {"unknown", 1'000'000}}));
}

TEST(Account, OfAnOldFileLeavesFreeCoresUnknown) {
    RunView run = small_run();
    run.asks.clear();
    run.attempts = {success(1, 0, 100, 600)};
    run.attempts[0].ask = no_place;
    EXPECT_EQ(lines_of(checked(run)), (Lines{{"useful", 500'000}, {"unknown", 1'500'000}}));
}

TEST(Account, OfAnOldFileDoesNotKnowWhenFilesWereThere) {
    RunView run = small_run();
    run.has_file_times = false;
    run.attempts = {success(1, 100, 100, 1100)};
    run.attempts[0].started = 250, run.attempts[0].ended = 850;
    run.attempts[0].cpu_us = 600;
    EXPECT_EQ(lines_of(checked(run)),
              (Lines{{"unknown", 150'000 + 250'000}, {"useful", 600'000}, {"tail", 1'000'000}}));
}

TEST(Account, SpreadsARangeOverItsTime) {
    RunView run = small_run();
    RunAttempt range = success(1, 0, 200, 1000);
    range.dispatched = 0;
    range.calls = 300;
    range.wall_us = 600, range.cpu_us = 400;
    run.attempts = {range};
    run.waiting = {{100, 300, 0, WaitReason::busy}, {1000, 0, 0, WaitReason::busy}};
    EXPECT_EQ(lines_of(checked(run)), (Lines{{"dispatch", 200'000 + 800 * 1250},
                                             {"useful", 400'000},
                                             {"idle_in_tasks", 200'000},
                                             {"after_the_end", 200'000}}));
}

TEST(Account, OfNothingIsNothing) {
    EXPECT_EQ(lines_of(checked({})), Lines());
    RunView run;
    run.workers = {worker_with(0, 5, 10), worker_with(3, 5, 5), worker_with(3, 0, 0)};
    run.attempts = {success(1, 1, 2, 3)};
    EXPECT_EQ(lines_of(checked(run)), Lines());
}

TEST(Account, HasTextsOfAllLines) {
    std::set<std::string> names;
    for (std::size_t line = 0; line < account_line_count; ++line) {
        names.insert(name_of(static_cast<AccountLine>(line)));
        EXPECT_NE(std::string(meaning_of(static_cast<AccountLine>(line))), "");
    }
    EXPECT_EQ(names.size(), account_line_count);
    EXPECT_STREQ(title_of(AccountLine::files_in), "files in");
}

TEST(Account, OfRandomRunsIsTheSimpleOne) {
    std::array<int, account_line_count> runs{};  // that have the line
    for (unsigned seed = 0; seed < 5000; ++seed) {
        std::mt19937 random(seed);
        const RunView run = random_run(random, Clocks::sound);
        const Account account = checked(run);
        const Account simple = simple_account(run);
        ASSERT_EQ(lines_of(account), lines_of(simple)) << "seed " << seed;
        ASSERT_TRUE(account.lost_by_ending == simple.lost_by_ending) << "seed " << seed;
        ASSERT_TRUE(account.above_allocation == simple.above_allocation) << "seed " << seed;
        ASSERT_TRUE(account.idle_not_sampled == simple.idle_not_sampled) << "seed " << seed;
        for (std::size_t line = 0; line < account_line_count; ++line) runs[line] += account.lines[line] > 0;
    }
    for (std::size_t line = 0; line < account_line_count; ++line)
        EXPECT_GE(runs[line], 10) << name_of(static_cast<AccountLine>(line));
}

TEST(Account, AddsUpWithClocksThatJump) {
    for (unsigned seed = 0; seed < 5000; ++seed) {
        std::mt19937 random(seed);
        const RunView run = random_run(random, Clocks::jumping);
        checked(run);
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace wq::views::model
