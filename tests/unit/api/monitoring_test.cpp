// Tasks that are measured: what workers are told, what programs read, and the files of summaries.
#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "unit/api/logs_fixture.h"
#include "work_queue/manager.h"

namespace wq {
namespace {

using Json = nlohmann::json;
using testing::FakeWorker;
using ::testing::HasSubstr;

class MonitoringTest : public testing::LogsTest {
  protected:
    void SetUp() override {
        start(1);
        worker_ = &add_worker({}, [](const net::messages::Lease& lease, net::messages::Ended& ended) {
            ended.outcome.started_us = 1'700'000'000'000'000;
            ended.outcome.wall_us = 2'500'000;
            ended.outcome.user_us = 1'000'000;
            ended.outcome.peak_memory_kb = 100 << 10;
            if (lease.text == "kernel") ended.outcome.ending = engine::model::Ending::out_of_memory;
            if (!lease.watch.measures) return;
            engine::model::Measured& measured = ended.outcome.measured.emplace();
            measured.usage = {1'500, 3'000'000, 800, 900, 1, 50, 7, 1 << 20, 2 << 20, 3, 4, 5, 6, 8, 9};
            if (lease.text != "greedy") return;
            ended.outcome.ending = engine::model::Ending::exhausted;
            measured.exceeded.disk_mb = 40;
        });
        worker_->begin();
    }
    std::string summary_of(std::int64_t id) const {
        return "wq-" + std::to_string(::getpid()) + "-task-" + std::to_string(id) + ".summary";
    }
    Json read(const std::string& name) const {
        std::ifstream file(path(name));
        return Json::parse(file, nullptr, false);
    }
    Task run(Task task) {
        EXPECT_GT(submit(std::move(task)), 0) << error_;
        auto ended = wait();
        return ended ? *ended : Task();
    }
    engine::model::Watch watch() { return worker_->leases().back().watch; }

    FakeWorker* worker_ = nullptr;
};

// "By default, Work Queue does not monitor or enforce these limits."
TEST_F(MonitoringTest, WorkersAreToldWhatToMeasureAndWhatToHoldTasksTo) {
    run(Task("x").memory(100));
    EXPECT_EQ(watch(), engine::model::Watch{});
    program_->monitor({true, true}, "");
    run(Task("x").memory(2000));
    EXPECT_EQ(watch(), (engine::model::Watch{true, {2000, 2048, 2048, -1}}));
    program_->monitor({true, false}, "");
    run(Task("x").memory(2000));
    EXPECT_EQ(watch(), (engine::model::Watch{true, {}}));
    program_->monitor({}, "");
    run(Task("x").monitor_output(path("own")));
    EXPECT_EQ(watch(), (engine::model::Watch{true, {}}));
    Task with_snapshots("x");
    with_snapshots.snapshot_file("events").monitor_output("");
    EXPECT_TRUE(TaskAccess::take(std::move(with_snapshots))->specs->is_measured());
}

TEST_F(MonitoringTest, ATaskTellsWhatItsProcessesTook) {
    const TaskUsage without = run(Task("x")).resources_measured();
    EXPECT_EQ(without.memory, 100);
    EXPECT_EQ(without.user_time, 1'000'000);
    EXPECT_EQ(without.cores, -1);
    EXPECT_EQ(without.disk, -1);
    program_->monitor({true, true}, "");
    const Task task = run(Task("x"));
    const TaskUsage& with = task.resources_measured();
    EXPECT_EQ(with.cores, 1.5);
    EXPECT_EQ(with.cpu_time, 3'000'000);
    EXPECT_EQ(with.memory, 800);
    EXPECT_EQ(with.virtual_memory, 900);
    EXPECT_EQ(with.swap_memory, 1);
    EXPECT_EQ(with.disk, 50);
    EXPECT_EQ(with.total_files, 7);
    EXPECT_EQ(with.bytes_read, 1 << 20);
    EXPECT_EQ(with.bytes_written, 2 << 20);
    EXPECT_EQ(with.bytes_received, 3);
    EXPECT_EQ(with.bytes_sent, 4);
    EXPECT_EQ(with.bandwidth, 5);
    EXPECT_EQ(with.max_concurrent_processes, 6);
    EXPECT_EQ(with.total_processes, 8);
    EXPECT_EQ(with.context_switches, 9);
    EXPECT_EQ(task.limits_exceeded().cores, -1);
    EXPECT_EQ(task.limits_exceeded().disk, -1);
}

TEST_F(MonitoringTest, ATaskTellsTheLimitThatItExceeded) {
    program_->monitor({true, true}, "");
    Task task = run(Task("greedy").disk(40));
    EXPECT_EQ(task.result(), TaskResult::resource_exhaustion);
    EXPECT_EQ(task.limits_exceeded().disk, 40);
    EXPECT_EQ(task.limits_exceeded().memory, -1);
    program_->monitor({}, "");
    task = run(Task("kernel").memory(1000));
    EXPECT_EQ(task.limits_exceeded().memory, 1024) << "nobody measured it: what it was given was too little";
    EXPECT_EQ(task.limits_exceeded().disk, -1);
}

TEST_F(MonitoringTest, SummariesAreThereWhenWaitReturnsTheTask) {
    program_->monitor({true, true}, path(""));
    for (std::int64_t id = 1; id <= 20; ++id) {
        submit(Task("echo 'a'").category("sort").monitor_output(id == 3 ? path("own") : ""));
        ASSERT_TRUE(wait());
        const Json summary = read(summary_of(id));
        ASSERT_TRUE(summary.is_object()) << id;
        EXPECT_EQ(summary["task_id"], std::to_string(id));
        EXPECT_EQ(summary["category"], "sort");
        EXPECT_EQ(summary["command"], "echo 'a'");
        EXPECT_EQ(summary["exit_status"], 0);
        EXPECT_EQ(summary["exit_type"], "normal");
        EXPECT_EQ(summary["cores"], Json::parse(R"([1.5, "cores"])"));
        EXPECT_EQ(summary["memory"], Json::parse(R"([800, "MB"])"));
        EXPECT_EQ(summary["disk"], Json::parse(R"([50, "MB"])"));
        EXPECT_EQ(summary["wall_time"], Json::parse(R"([2.5, "s"])"));
        EXPECT_EQ(summary["total_files"], Json::parse(R"([7, "files"])"));
    }
    EXPECT_EQ(read("own/" + summary_of(3)), read(summary_of(3)));
    EXPECT_EQ(lines("wq-" + std::to_string(::getpid()) + ".summaries").size(), 20U);
}

TEST_F(MonitoringTest, ALaterRunBeginsWithTheSummariesOfAnEarlierOne) {
    program_->monitor({true, true}, path(""));
    for (int i = 0; i < 30; ++i) run(Task("x").category("sort"));
    run(Task("greedy").category("sort"));
    ManagerOptions options;
    options.listen = false;
    options.say = [](const std::string&) {};
    Manager later(options);
    ASSERT_TRUE(later.initialize_categories(path("wq-" + std::to_string(::getpid()) + ".summaries"),
                                            {-1, 3000, -1, -1}));
    const auto all = later.categories();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].name, "sort");
    EXPECT_EQ(all[0].max_cores, "~1.5");
    EXPECT_EQ(all[0].max_memory, "3000");
    EXPECT_EQ(all[0].max_disk, "~50");
    std::ofstream(path("wrong")) << "{\"memory\": [-1, \"MB\"], \"category\"";
    EXPECT_FALSE(later.initialize_categories(path("wrong")));
    EXPECT_THAT(later.last_error(), HasSubstr("wrong: line 1 is not a summary, nor is any other"));
    EXPECT_EQ(later.categories().size(), 1U);
}

TEST_F(MonitoringTest, AFolderThatCannotBeWrittenIsRefusedOrToldAndCostsNoTask) {
    std::ofstream(path("file")) << "x";
    EXPECT_EQ(submit(Task("x").monitor_output(path("file/below"))), 0);
    EXPECT_THAT(error_, HasSubstr("monitor_output: "));
    EXPECT_THAT(error_, HasSubstr("file/below: "));
    EXPECT_GT(submit(Task("x").monitor_output(path("made/of/many"))), 0);
    ASSERT_TRUE(wait());
    EXPECT_TRUE(read("made/of/many/" + summary_of(1)).is_object());
    // It goes while the program runs.
    program_->monitor({true, true}, path("made/file"));
    std::ofstream(path("made/file")) << "x";
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(run(Task("x")).ok());
    EXPECT_THAT(said(), HasSubstr("a summary cannot be written: "));
    EXPECT_EQ(said_.size(), 1U);
}

// Nothing is measured of a call that has no process of its own; and of none that never ran is a file.
TEST_F(MonitoringTest, WhatNeverRanHasNoSummary) {
    program_->monitor({true, true}, path(""));
    submit(Task("x").end_time(1));
    const auto expired = wait();
    ASSERT_TRUE(expired);
    EXPECT_EQ(expired->result(), TaskResult::task_timeout);
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

using CategoryLogsTest = testing::LogsTest;

TEST_F(CategoryLogsTest, LogsTellWhatACategorySaysAndWhichLimitATaskExceeded) {
    api::ProgramManagerOptions options;
    options.logs.transactions = path("tr.log");
    start(1, std::move(options));
    add_worker({}, [](const net::messages::Lease& lease, net::messages::Ended& ended) {
        ended.outcome.ending = engine::model::Ending::exhausted;
        ended.outcome.measured.emplace().usage.disk = 3000;
        ended.outcome.measured->exceeded.disk_mb = lease.give.disk_mb;
    }).begin();
    program_->monitor({true, true}, "");
    engine::model::CategorySet what;
    what.max = engine::model::Sizes{2000, 1024, -1, -1};
    what.min = engine::model::Sizes{-1, 100, -1, -1};
    what.mode = engine::model::AllocationMode::max;
    program_->set_category("a", what);
    submit(Task("x").category("a").disk(2000));
    const auto task = wait();
    ASSERT_TRUE(task);
    EXPECT_EQ(task->result(), TaskResult::resource_exhaustion);
    EXPECT_EQ(task->attempts(), 1U) << "it said itself how much it needs";
    program_.reset();
    const auto all = lines("tr.log");
    using ::testing::Contains;
    EXPECT_THAT(all, Contains(HasSubstr(R"(CATEGORY a MAX {"cores":[2,"cores"],"memory":[1024,"MB"]})")));
    EXPECT_THAT(all, Contains(HasSubstr(R"(CATEGORY a MIN {"memory":[100,"MB"]})")));
    EXPECT_THAT(all, Contains(HasSubstr(R"(CATEGORY a FIRST MAX {"cores":[2,"cores"])")));
    EXPECT_THAT(all, Contains(HasSubstr(R"(TASK 1 DONE RESOURCE_EXHAUSTION 9 {"disk":[2048,"MB"]} {)")));
    EXPECT_THAT(all, Contains(HasSubstr(R"("disk":[3000,"MB"])")));
}

TEST_F(MonitoringTest, WhatIsNoSummaryOfAnEarlierRunIsTold) {
    std::ofstream(path("torn")) << "{\"category\": \"b\"}\n{\"memory\": [-1, \"MB\"], \"category\"";
    std::string told;
    ManagerOptions options;
    options.listen = false;
    options.say = [&](const std::string& line) { told += line + "\n"; };
    {
        Manager later(options);
        EXPECT_TRUE(later.initialize_categories(path("torn")));
        EXPECT_EQ(later.categories().size(), 1U);
    }
    EXPECT_THAT(told, HasSubstr("torn: line 2 is not a summary: skipped"));
}

TEST(Monitoring, AFolderThatCannotBeWrittenIsRefusedAtTheCall) {
    ManagerOptions options;
    options.listen = false;
    options.say = [](const std::string&) {};
    Manager manager(options);
    EXPECT_FALSE(manager.enable_monitoring("/dev/null/folder"));
    EXPECT_THAT(manager.last_error(), HasSubstr("enable_monitoring: /dev/null/folder: "));
    EXPECT_TRUE(manager.enable_monitoring());
    EXPECT_TRUE(manager.enable_monitoring_full("", false));
}

}  // namespace
}  // namespace wq
