// What a program says of its categories, and what their tasks get by it.
#include <gmock/gmock.h>

#include <cmath>

#include "api/translation.h"
#include "unit/api/program_fixture.h"
#include "work_queue/manager.h"

namespace wq {
namespace {

using testing::FakeWorker;
using ::testing::HasSubstr;
using testing::ProgramTest;

class CategoriesTest : public ProgramTest {
  protected:
    void set_max(const std::string& category, const TaskResources& most) {
        engine::model::CategorySet what;
        what.max = api::sizes_of(most);
        program_->set_category(category, what);
    }
    void set_mode(const std::string& category, engine::model::AllocationMode mode) {
        engine::model::CategorySet what;
        what.mode = mode;
        program_->set_category(category, what);
    }
    CategorySummary summary(const std::string& category) {
        for (CategorySummary& one : program_->categories())
            if (one.name == category) return one;
        ADD_FAILURE() << "there is no category " << category;
        return {};
    }
    TaskResources allocated(Task task) {
        EXPECT_GT(submit(std::move(task)), 0) << error_;
        const auto ended = wait();
        return ended ? ended->resources_allocated() : TaskResources{};
    }
    static void expect(const TaskResources& is, double cores, std::int64_t memory, std::int64_t disk) {
        EXPECT_EQ(is.cores, cores);
        EXPECT_EQ(is.memory, memory);
        EXPECT_EQ(is.disk, disk);
    }
    // It succeeds, and has taken so much.
    static void takes(net::messages::Ended& ended, std::int64_t memory) {
        ended.outcome.wall_us = 1'000'000;
        ended.outcome.started_us = 1;
        engine::model::Usage& usage = ended.outcome.measured.emplace().usage;
        usage.cores = 980;
        usage.memory = memory;
        usage.disk = 10;
    }
    void run_one_by_one(int tasks, const std::string& category) {
        for (int i = 0; i < tasks; ++i) {
            submit(Task("small").category(category));
            ASSERT_TRUE(wait());
        }
    }
};

TEST_F(CategoriesTest, ItsMaximumIsWhatTasksAreGivenThatSayNothingThemselves) {
    start(1);
    add_worker({}, [](const net::messages::Lease&, net::messages::Ended&) {}).begin();
    set_max("a", {2, 1024, -1, 0});
    expect(allocated(Task("x").category("a")), 2, 2048, 2048);
    expect(allocated(Task("x").category("a").cores(1)), 1, 1024, 1024);
    expect(allocated(Task("x").category("a").memory(4096)), 4, 4096, 4096);
    expect(allocated(Task("x")), 4, 4096, 4096);
    set_max("a", {});
    expect(allocated(Task("x").category("a")), 4, 4096, 4096);
    set_max("", {0.5, -1, -1, -1});
    expect(allocated(Task("x")), 0.5, 512, 512);
    EXPECT_EQ(summary("default").max_cores, "0.5");
    EXPECT_EQ(summary("default").max_memory, "na");
}

TEST_F(CategoriesTest, NothingBelowItsMinimumIsGiven) {
    start(1);
    add_worker().begin();
    engine::model::CategorySet least;
    least.min = api::sizes_of({-1, 3000, -1, -1});
    program_->set_category("a", least);
    expect(allocated(Task("x").category("a").cores(1)), 1, 3000, 1024);
    least.min = api::sizes_of({-1, 5000, -1, -1});
    program_->set_category("a", least);
    submit(Task("x").category("a").cores(1));
    EXPECT_THAT(program_->why(2), HasSubstr("not now: no worker can hold it"));
    EXPECT_EQ(summary("a").waiting, 1);
}

// A function is one core's work where nobody says more.
TEST_F(CategoriesTest, CallsAskForWhatTheirCategorySays) {
    start(1);
    add_worker({1, "host", 4, {"function:f"}}).begin();
    expect(allocated(Task::packed_call("f", "\x90")), 1, 1024, 1024);
    set_max("", {2, -1, -1, -1});
    expect(allocated(Task::packed_call("f", "\x90")), 2, 2048, 2048);
}

TEST_F(CategoriesTest, NoMoreOfItsTasksRunAtOnceThanItAllows) {
    start(1);
    FakeWorker& worker = add_worker();
    engine::model::CategorySet two;
    two.max_concurrent = 2;
    program_->set_category("a", two);
    for (int i = 0; i < 5; ++i) submit(Task("x").category("a").cores(1));
    submit(Task("y").cores(1));
    worker.wait_for_leases(3);
    for (std::size_t ended = 0; ended < 3; ++ended) {
        EXPECT_EQ(summary("a").running, 2);
        EXPECT_EQ(summary("a").waiting, static_cast<std::int64_t>(3 - ended));
        EXPECT_EQ(worker.leases().size(), 3 + ended);
        worker.answer(1);
        ASSERT_TRUE(wait());
        if (ended != 2) worker.wait_for_leases(4 + ended);
    }
    worker.begin();
    while (wait()) {
    }
}

TEST_F(CategoriesTest, WithEnoughMeasuredItsTasksGetNoMoreThanTheyTake) {
    start(1);
    FakeWorker& worker = add_worker({}, [](const net::messages::Lease& lease, net::messages::Ended& ended) {
        takes(ended, lease.text == "small" ? 200 : 900);
        if (lease.text != "large" || lease.give.memory_mb > 1024) return;
        ended.outcome.ending = engine::model::Ending::out_of_memory;
        ended.outcome.measured->exceeded.memory_mb = lease.give.memory_mb;
    });
    worker.begin();
    program_->monitor({true, true}, "");
    set_mode("a", engine::model::AllocationMode::max_throughput);
    run_one_by_one(26, "a");
    EXPECT_EQ(worker.leases().back().give, (engine::model::Resources{4, 4096, 4096, 0}))
        << "whole workers until then";
    EXPECT_EQ(summary("a").max_cores, "~0.98");
    EXPECT_EQ(summary("a").max_memory, "~200");
    EXPECT_EQ(summary("a").max_disk, "~10");
    EXPECT_EQ(summary("a").fit_workers, 1);
    run_one_by_one(25, "a");
    expect(allocated(Task("small").category("a")), 1, 1024, 1024);
    // What takes more has one more try, with a whole worker.
    submit(Task("large").category("a"));
    const auto large = wait();
    ASSERT_TRUE(large);
    EXPECT_TRUE(large->ok());
    EXPECT_EQ(large->attempts(), 2U);
    EXPECT_EQ(large->exhausted_attempts(), 1U);
    expect(large->resources_allocated(), 4, 4096, 4096);
    EXPECT_EQ(program_->statistics_of("a").tasks_exhausted_attempts, 1);
    EXPECT_THAT(said(), Not(HasSubstr("needs measurements")));
}

TEST_F(CategoriesTest, ItsMinimumHoldsForWhatIsFoundToo) {
    start(1);
    FakeWorker& worker =
        add_worker({}, [](const net::messages::Lease&, net::messages::Ended& ended) { takes(ended, 200); });
    worker.begin();
    program_->monitor({true, true}, "");
    ASSERT_TRUE(tune("category-steady-n-tasks", 3));
    set_mode("a", engine::model::AllocationMode::min_waste);
    run_one_by_one(9, "a");
    EXPECT_EQ(worker.leases().back().give.memory_mb, 1024) << "3 are enough now";
    engine::model::CategorySet least;
    least.min = api::sizes_of({-1, 2000, -1, -1});
    program_->set_category("a", least);
    run_one_by_one(1, "a");
    EXPECT_EQ(worker.leases().back().give.memory_mb, 2048);
}

TEST_F(CategoriesTest, AModeWithoutMonitoringIsToldOnce) {
    start(1);
    add_worker().begin();
    set_mode("a", engine::model::AllocationMode::max);
    EXPECT_EQ(said(), "") << "its tasks may be measured yet";
    submit(Task("x").category("a").monitor_output("/tmp"));
    while (wait()) {
    }
    EXPECT_EQ(said(), "") << "this one is";
    for (int i = 0; i < 3; ++i) submit(Task("x" + std::to_string(i)).category("a").cores(i));
    while (wait()) {
    }
    EXPECT_THAT(said(), HasSubstr("category 'a': its mode needs measurements"));
    EXPECT_EQ(std::count(said_.begin(), said_.end(), said_.front()), 1);
    program_->monitor({true, false}, "");
    set_mode("b", engine::model::AllocationMode::max);
    submit(Task("x").category("b"));
    while (wait()) {
    }
    EXPECT_THAT(said(), Not(HasSubstr("'b'")));
}

TEST_F(CategoriesTest, AModeOfAllIsThatOfCategoriesThatCome) {
    start(1);
    FakeWorker& worker =
        add_worker({}, [](const net::messages::Lease&, net::messages::Ended& ended) { takes(ended, 200); });
    worker.begin();
    program_->monitor({true, true}, "");
    ASSERT_TRUE(tune("category-steady-n-tasks", 2));
    run_one_by_one(1, "before");
    set_mode("", engine::model::AllocationMode::max);
    for (const char* category : {"before", "after"}) {
        run_one_by_one(6, category);
        EXPECT_EQ(worker.leases().back().give.cores, category == std::string("before") ? 4 : 1);
    }
}

TEST_F(CategoriesTest, WhyTellsWhatIsMissingUntilTheTaskIsReturned) {
    start(1);
    FakeWorker& worker = add_worker({1, "host", 2, {}});
    worker.begin();
    submit(Task("x"));
    ASSERT_TRUE(wait());
    EXPECT_EQ(program_->why(1), "");
    set_max("a", {64, -1, -1, -1});
    submit(Task("y").category("a"));
    EXPECT_THAT(program_->why(2), HasSubstr("not now: no worker can hold it: it needs 64 cores"));
    EXPECT_EQ(summary("a").fit_workers, 0);
    set_max("a", {1, -1, -1, -1});
    EXPECT_TRUE(wait()) << "those that wait follow";
}

TEST(Categories, WhatIsNoAmountOrNameIsRefusedAndSaid) {
    std::vector<std::string> said;
    ManagerOptions options;
    options.listen = false;
    options.say = [&](const std::string& line) { said.push_back(line); };
    {
        Manager manager(options);
        EXPECT_FALSE(manager.specify_category_max_resources("a", {-5, -1, -1, -1}));
        EXPECT_EQ(manager.last_error(),
                  "specify_category_max_resources: cores(-5): give a number from 0 to 100000, or -1 for not "
                  "specified");
        EXPECT_FALSE(manager.specify_min_resources({std::nan(""), -1, -1, -1}));
        EXPECT_THAT(manager.last_error(), HasSubstr("specify_category_min_resources: cores(nan)"));
        EXPECT_FALSE(manager.specify_category_first_allocation_guess("a", {1e9, -1, -1, -1}));
        EXPECT_FALSE(manager.specify_max_resources({-1, -2, -1, -1}));
        EXPECT_FALSE(manager.specify_category_mode("a", static_cast<AllocationMode>(9)));
        EXPECT_THAT(manager.last_error(), HasSubstr("unknown mode 9"));
        EXPECT_FALSE(manager.enable_category_resource("a", "teeth"));
        EXPECT_THAT(manager.last_error(), HasSubstr("unknown resource 'teeth'"));
        EXPECT_FALSE(manager.initialize_categories("/nowhere/file"));
        EXPECT_EQ(manager.last_error(), "initialize_categories: /nowhere/file: No such file or directory");
        EXPECT_TRUE(manager.categories().empty());
        EXPECT_TRUE(manager.specify_category_max_resources("a", {1.5, 0, -1, -1}));
        EXPECT_TRUE(manager.enable_category_resource("a", "gpus", true));
        EXPECT_TRUE(manager.specify_category_mode("a", AllocationMode::fixed));
        manager.specify_category_max_concurrent("b", -7);
        const std::vector<CategorySummary> all = manager.categories();
        ASSERT_EQ(all.size(), 2U);
        EXPECT_EQ(all[0].name, "a");
        EXPECT_EQ(all[0].max_cores, "1.5");
        EXPECT_EQ(all[0].max_memory, "na");
        manager.specify_category_max_concurrent("b", 0);
        manager.specify_category_max_concurrent("b", 0);
        EXPECT_TRUE(manager.categories().size() == 2) << "it has done what was said before";
    }
    ASSERT_EQ(said.size(), 8U);
    EXPECT_THAT(said[7], HasSubstr("category 'b': its tasks wait, because at most 0 may run at once"));
}

}  // namespace
}  // namespace wq
