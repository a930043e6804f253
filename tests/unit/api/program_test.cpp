// What a program sees of its manager: submit, wait, tags, priorities, ranges, figures.
#include <gmock/gmock.h>

#include <set>

#include "unit/api/program_fixture.h"
#include "work_queue/call.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using testing::FakeWorker;
using ::testing::HasSubstr;
using testing::ProgramTest;

TEST_F(ProgramTest, GivesEachTaskBackOnceWithWhatBecameOfIt) {
    start(1);
    FakeWorker& worker = add_worker({}, [](const net::messages::Lease& lease, net::messages::Ended& ended) {
        ended.output.out = "out of " + lease.text;
        ended.output.err = "err";
        ended.outcome.exit_code = lease.text == "three" ? 3 : 0;
        ended.outcome.started_us = 1000;
        ended.outcome.wall_us = 20;
    });
    worker.begin();
    EXPECT_EQ(submit(Task("one").tag("first")), 1);
    EXPECT_EQ(submit(Task("two").category("other")), 2);
    EXPECT_EQ(submit(Task("three").environment_variable("NAME", "value").environment_variable("GONE", {})),
              3);
    EXPECT_FALSE(program_->empty());
    std::map<std::int64_t, Task> ended;
    while (auto task = wait()) ended.emplace(task->id(), std::move(*task));
    ASSERT_EQ(ended.size(), 3U);
    EXPECT_TRUE(program_->empty());
    const Task& one = ended.at(1);
    EXPECT_TRUE(one.ok());
    EXPECT_EQ(one.tag(), "first");
    EXPECT_EQ(one.category(), "default");
    EXPECT_EQ(one.output(), "out of one");
    EXPECT_EQ(one.error_output(), "err");
    EXPECT_EQ(one.hostname(), "host");
    EXPECT_EQ(one.host(), "host:rank 1");
    EXPECT_EQ(one.attempts(), 1U);
    EXPECT_EQ(one.cmd_execution_time(), 20);
    EXPECT_EQ(one.execute_cmd_finish(), 1020);
    EXPECT_GT(one.submit_time(), 0);
    EXPECT_LE(one.submit_time(), one.commit_time());
    EXPECT_LE(one.commit_time(), one.finish_time());
    EXPECT_LE(one.finish_time(), one.return_time());
    const Task& three = ended.at(3);
    EXPECT_FALSE(three.ok());
    EXPECT_EQ(three.result(), TaskResult::success);
    EXPECT_EQ(three.exit_status(), 3);
    EXPECT_EQ(ended.at(2).category(), "other");
    for (const net::messages::Lease& lease : worker.leases())
        if (lease.text == "three") {
            EXPECT_EQ(lease.variables, (EnvironmentChanges{{"NAME", "value"}, {"GONE", std::nullopt}}));
        }
}

TEST_F(ProgramTest, WaitReturnsAtOnceWhenNothingIsLeftAndWhenItsTimeIsOver) {
    start(1);
    EXPECT_FALSE(program_->wait(std::nullopt));  // for ever, were it not empty
    submit(Task("never given out"));
    EXPECT_FALSE(program_->wait(Duration{0}));
    EXPECT_FALSE(program_->wait(std::chrono::milliseconds(1)));
    EXPECT_FALSE(program_->empty());
}

TEST_F(ProgramTest, TimesWithoutBoundsAreNoSurprise) {
    start(1);
    submit(Task("a"));
    EXPECT_FALSE(program_->wait(Duration::min()));
    FakeWorker& worker = add_worker();
    std::thread later([&] {
        worker.wait_for_leases(1);
        worker.begin();
    });
    EXPECT_TRUE(program_->wait(Duration::max()));
    later.join();
}

TEST_F(ProgramTest, WaitForATagLeavesTheOthers) {
    start(1);
    add_worker().begin();
    submit(Task("a").tag("x"));
    submit(Task("b").tag("y"));
    const std::string y = "y";
    const std::string z = "z";
    const auto task = program_->wait(std::nullopt, &y);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->command(), "b");
    EXPECT_FALSE(program_->wait(std::nullopt, &y));  // none of that tag is left
    EXPECT_FALSE(program_->wait(std::nullopt, &z));
    const auto other = wait();
    ASSERT_TRUE(other);
    EXPECT_EQ(other->command(), "a");
}

TEST_F(ProgramTest, HigherPrioritiesGoFirstAndEqualsInOrder) {
    start(1);
    for (const auto& [text, priority] :
         {std::pair{"low", -1.0}, {"first", 0.0}, {"second", 0.0}, {"high", 2.5}})
        submit(Task(text).priority(priority).cores(1));
    ASSERT_EQ(program_->task_state(4), TaskState::ready);
    FakeWorker& worker = add_worker({1, "host", 1, {}});
    worker.begin();
    while (wait()) {
    }
    std::vector<std::string> order;
    for (const net::messages::Lease& lease : worker.leases()) order.push_back(lease.text);
    EXPECT_THAT(order, ElementsAre("high", "first", "second", "low"));
}

TEST_F(ProgramTest, CallsAndCommandsGoWhereTheyCanRun) {
    start(2);
    const auto end = [](const net::messages::Lease&, net::messages::Ended& ended) {
        ended.outcome.wall_us = 10;
    };
    FakeWorker& plain = add_worker({1, "plain", 1, {}}, end);
    FakeWorker& able = add_worker({2, "able", 1, {"function:f", "function:g"}}, end);
    constexpr int each = 100;
    for (int i = 0; i < each; ++i) {
        submit(Task::call("f", i));
        submit(Task::call("g", i));
        submit(Task("true"));
    }
    plain.begin();
    able.begin();
    for (int i = 0; i < 3 * each; ++i) ASSERT_TRUE(wait());
    for (const net::messages::Lease& lease : plain.leases()) EXPECT_FALSE(lease.call);
}

// A range as a whole, however long it is.
TEST_F(ProgramTest, CallsOfAMisspeltFunctionFailWhenNoOtherWorkerHasCome) {
    start(1);
    add_worker({1, "host", 1, {"function:f"}});
    submit(Task::call("g"));
    submit(Task::range("g", 0, 1'000'000'000'000));
    for (const bool range : {false, true}) {
        const auto failed = wait();
        ASSERT_TRUE(failed);
        EXPECT_FALSE(failed->ok());
        EXPECT_THAT(failed->reason(), HasSubstr("no worker has function 'g'; they have function 'f'"));
        if (!range) continue;
        EXPECT_TRUE(failed->progress().complete);
        EXPECT_EQ(failed->progress().failed_total, 1'000'000'000'000U);
    }
    EXPECT_TRUE(program_->empty());
}

TEST_F(ProgramTest, ARangeIsWellWhileItGoesOnAndAtItsEndIfAllCallsWere) {
    start(1);
    add_worker({1, "host", 1, {"function:f"}}, [](const net::messages::Lease& lease,
                                                  net::messages::Ended& ended) {
        ended.outcome.exit_code = lease.task == TaskId(1) ? 1 : 0;
        ended.outcome.wall_us = 5'000'000;
    }).begin();
    submit(Task::range("f", 10, 14).cores(1));
    bool complete = false;
    int failed = 0;
    while (const auto task = wait()) {
        if (task->kind() == TaskKind::call) {
            ++failed;
            EXPECT_EQ(task->index(), 11);
            EXPECT_FALSE(task->ok());
            continue;
        }
        complete = task->progress().complete;
        EXPECT_EQ(task->ok(), !complete);
        EXPECT_EQ(task->reason(), complete ? "1 of its 4 calls failed: each is reported separately" : "");
    }
    EXPECT_TRUE(complete);
    EXPECT_EQ(failed, 1);
}

TEST_F(ProgramTest, CountsByCategory) {
    start(1);
    add_worker({}, [](const net::messages::Lease& lease, net::messages::Ended& ended) {
        ended.outcome.exit_code = lease.text == "bad" ? 1 : 0;
        ended.outcome.wall_us = 10;
    }).begin();
    for (int i = 0; i < 5; ++i) submit(Task("good").category("one"));
    for (int i = 0; i < 3; ++i) submit(Task("bad").category("two"));
    while (wait()) {
    }
    const Statistics one = program_->statistics_of("one");
    EXPECT_EQ(one.tasks_submitted, 5);
    EXPECT_EQ(one.tasks_done, 5);
    EXPECT_EQ(one.tasks_failed, 0);
    EXPECT_EQ(one.time_execute, 50);
    const Statistics two = program_->statistics_of("two");
    EXPECT_EQ(two.tasks_done, 3);
    EXPECT_EQ(two.time_execute_good, 0);
    EXPECT_EQ(two.time_workers_execute, 30);
    EXPECT_EQ(program_->statistics_of("none").tasks_submitted, 0);
    const Statistics all = program_->statistics();
    EXPECT_EQ(all.tasks_submitted, 8);
    EXPECT_EQ(all.tasks_done, 8);
    EXPECT_EQ(all.tasks_with_results, 0);
    EXPECT_EQ(all.workers_connected, 1);
    EXPECT_GT(all.time_when_started, 0);
}

TEST_F(ProgramTest, IsHungryUntilEnoughWait) {
    start(1);
    EXPECT_EQ(program_->tasks_wanted(), 10);
    for (int i = 0; i < 4; ++i) submit(Task("a"));
    EXPECT_EQ(program_->tasks_wanted(), 6);
    ASSERT_TRUE(tune("hungry-minimum", 4));
    EXPECT_EQ(program_->tasks_wanted(), 0);
    ASSERT_TRUE(tune("hungry-minumum", 5));  // as the manual's example has it
    EXPECT_EQ(program_->tasks_wanted(), 1);
}

TEST_F(ProgramTest, KnowsEveryParameterOfTheManual) {
    start(0);
    for (const char* name : {"category-steady-n-tasks",
                             "proportional-resources",
                             "proportional-whole-tasks",
                             "hungry-minimum",
                             "hungry-minimum-factor",
                             "ramp-down-heuristic",
                             "resource-submit-multiplier",
                             "wait-for-workers",
                             "wait-retrieve-many",
                             "asynchrony-multiplier",
                             "min-transfer-timeout",
                             "foreman-transfer-timeout",
                             "default-transfer-rate",
                             "transfer-outlier-factor",
                             "fast-abort-multiplier",
                             "keepalive-interval",
                             "keepalive-timeout",
                             "short-timeout",
                             "long-timeout",
                             "attempt-schedule-depth",
                             "force-proportional-resources",
                             "force-proportional-resources-whole-tasks",
                             "monitor-interval",
                             "wait_retrieve_many"})
        EXPECT_TRUE(tune(name, 1)) << name;
    EXPECT_FALSE(tune("no-such-thing", 1));
    EXPECT_THAT(error_, HasSubstr("no-such-thing"));
    EXPECT_FALSE(tune("resource-submit-multiplier", 0.5));
    EXPECT_FALSE(tune("hungry-minimum", std::nan("")));
    EXPECT_TRUE(tune("speculate", 0));
    EXPECT_FALSE(tune("speculate", 0.5));
    EXPECT_EQ(error_, "tune: speculate takes 0, or a number of at least 1");
    EXPECT_TRUE(tune("reconnect-timeout", 0));
    EXPECT_TRUE(tune("reconnect-timeout", 300));
    EXPECT_FALSE(tune("reconnect-timeout", 9));
    EXPECT_EQ(error_, "tune: reconnect-timeout takes 0, or a number of at least 10");
}

TEST_F(ProgramTest, KeepAlivesAreTunedWhileItRuns) {
    std::vector<std::pair<double, double>> set;
    api::ProgramManagerOptions options;
    options.keep_alive = {20, 40};
    options.change_keep_alive = [&](const api::KeepAlive& wanted) {
        set.emplace_back(wanted.interval, wanted.timeout);
    };
    start(0, std::move(options));
    EXPECT_TRUE(tune("keepalive-timeout", 100));
    EXPECT_TRUE(tune("keepalive-interval", 0));
    EXPECT_TRUE(tune("hungry-minimum", 5));
    EXPECT_THAT(set, ElementsAre(std::pair(20.0, 100.0), std::pair(0.0, 100.0)));
}

TEST_F(ProgramTest, HoldsTasksBackUntilSoManyWorkersAreThere) {
    start(2);
    ASSERT_TRUE(tune("wait-for-workers", 2));
    FakeWorker& first = add_worker({1, "host", 4, {}});
    first.begin();
    submit(Task("a"));
    ASSERT_EQ(program_->task_state(1), TaskState::ready);
    // It is there, and waits with the task: who is not there is no reason.
    while (program_->stats().workers_connected < 1) std::this_thread::yield();
    EXPECT_EQ(program_->task_state(1), TaskState::ready);
    EXPECT_TRUE(first.leases().empty());
    add_worker({2, "host", 4, {}}).begin();
    EXPECT_TRUE(wait());
}

TEST_F(ProgramTest, ATaskThatNoWorkerCanHoldWaitsForOneThatCan) {
    start(2);
    add_worker({1, "small", 1, {}}).begin();
    submit(Task("large").cores(8));
    submit(Task("special").feature("gpu4"));
    submit(Task("small"));
    const auto small = wait();
    ASSERT_TRUE(small);
    EXPECT_EQ(small->command(), "small");
    EXPECT_EQ(program_->task_state(1), TaskState::ready);
    add_worker({2, "large", 8, {"gpu4"}}).begin();
    std::set<std::string> others;
    while (auto task = wait()) others.insert(task->command() + " on " + task->hostname());
    EXPECT_THAT(others, ElementsAre("large on large", "special on large"));
}

TEST_F(ProgramTest, DrainedAndDismissedWorkersFinishWhatTheyHave) {
    start(2);
    FakeWorker& first = add_worker({1, "one", 2, {}});
    submit(Task("a").cores(1));
    first.wait_for_leases(1);
    EXPECT_EQ(program_->drain("one", true), 1);
    EXPECT_EQ(program_->drain("nowhere", true), 0);
    submit(Task("b").cores(1));
    EXPECT_EQ(program_->task_state(2), TaskState::ready) << "although it has a core free";
    first.begin();
    ASSERT_TRUE(wait());
    first.wait_for_dismissal();
    EXPECT_EQ(first.leases().size(), 1U);
    FakeWorker& second = add_worker({2, "two", 1, {}});
    second.begin();
    const auto b = wait();
    ASSERT_TRUE(b);
    EXPECT_EQ(b->hostname(), "two");
    EXPECT_EQ(program_->shut_down(0), 1);
    second.wait_for_dismissal();
    EXPECT_EQ(program_->stats().workers_connected, 0);
}

TEST_F(ProgramTest, ADrainThatIsTakenBackLetsTheWorkerStay) {
    start(1);
    FakeWorker& worker = add_worker({1, "one", 1, {}});
    submit(Task("a").cores(1));
    worker.wait_for_leases(1);
    EXPECT_EQ(program_->drain("one", true), 1);
    EXPECT_EQ(program_->drain("one", false), 1);
    submit(Task("b").cores(1));
    worker.begin();
    ASSERT_TRUE(wait());
    EXPECT_TRUE(wait());
}

// Nothing but the manager's own thread moves while the program computes: all ends are there when it looks.

TEST_F(ProgramTest, WorksOnWhileTheProgramComputes) {
    start(1);
    FakeWorker& worker = add_worker({1, "host", 4, {}});
    worker.begin();
    constexpr std::size_t tasks = 2000;
    for (std::size_t i = 0; i < tasks; ++i) submit(Task("a"));
    // Far more than one dispatch holds: they are given out one after the other as ends come back.
    worker.wait_for_leases(tasks);
    engine::model::ManagerStats stats = program_->stats();
    while (stats.tasks_with_results < static_cast<std::int64_t>(tasks)) stats = program_->stats();
    EXPECT_EQ(stats.tasks_done, 0);
    EXPECT_GT(stats.time_application, 0);
    std::size_t ended = 0;
    while (wait()) ++ended;
    EXPECT_EQ(ended, tasks);
}

TEST_F(ProgramTest, ManyThreadsMaySubmitAndWait) {
    start(1);
    add_worker().begin();
    constexpr int each = 500;
    std::atomic<int> ended = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int j = 0; j < each; ++j) static_cast<void>(program_->submit(Task("a")));
            while (program_->wait(std::nullopt)) ++ended;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ended, 4 * each);
}

TEST_F(ProgramTest, TheEndGivesUpWhatRuns) {
    start(1);
    FakeWorker& worker = add_worker();
    submit(Task("a"));
    worker.wait_for_leases(1);
    program_.reset();
    worker.wait_for_dismissal();
}

}  // namespace
}  // namespace wq
