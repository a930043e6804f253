#include "views/terminal/run_moment.h"

#include <gmock/gmock.h>

#include "unit/views/terminal/hand_made_run.h"

namespace wq::views::terminal {
namespace {

TaskState state_of(const RunMoment& moment, std::uint64_t task) {
    for (const TaskRow& row : moment.tasks)
        if (row.task == task) return row.state;
    ADD_FAILURE() << "no task " << task;
    return TaskState::running;
}

TEST(Moment, CountsAreThoseOfTheLastSample) {
    const RunMoment moment = moment_of(hand_made_run(), {});
    EXPECT_EQ(moment.at, noon + 40 * second);
    EXPECT_EQ(moment.counts.submitted, 20);
    EXPECT_EQ(moment.counts.done, 10);
    EXPECT_EQ(moment.counts.failed, 2);
    EXPECT_EQ(moment.counts.running, 3);
    EXPECT_EQ(moment.counts.waiting, 7);
    EXPECT_EQ(moment.elapsed, std::chrono::seconds(40));
    EXPECT_DOUBLE_EQ(moment.rate, 10.0 / 40);
    EXPECT_EQ(moment.left, std::chrono::seconds(40));
}

TEST(Moment, WithoutSamplesAttemptsAreCounted) {
    model::RunView run = hand_made_run();
    run.samples.clear();
    const RunMoment moment = moment_of(run, {});
    EXPECT_EQ(moment.counts.submitted, model::not_recorded);
    EXPECT_EQ(moment.counts.waiting, model::not_recorded);
    EXPECT_EQ(moment.counts.done, 10);
    EXPECT_EQ(moment.counts.failed, 2);
    EXPECT_EQ(moment.counts.running, 3);
    EXPECT_FALSE(moment.left);
}

TEST(Moment, ATaskIsAsItsSuccessSays) {
    model::RunView run = hand_made_run();
    model::RunAttempt copy = attempt(1, 4, 20);  // a second copy that was killed
    copy.ending = engine::model::Ending::killed;
    copy.attempt = 2;
    copy.is_accepted = copy.is_final = false;
    run.attempts.push_back(copy);
    EXPECT_EQ(state_of(moment_of(run, {}), 1), TaskState::succeeded);
    EXPECT_EQ(state_of(moment_of(run, noon + 5 * second), 1), TaskState::running);
    EXPECT_EQ(state_of(moment_of(run, {}), 9), TaskState::failed);
    EXPECT_EQ(state_of(moment_of(run, {}), 11), TaskState::retried);
}

TEST(Moment, WorkersAreAsTheirLastChangeSays) {
    const RunMoment moment = moment_of(hand_made_run(), {});
    ASSERT_EQ(moment.workers.size(), 3u);
    EXPECT_EQ(moment.workers[0].state, WorkerState::busy);
    EXPECT_EQ(moment.workers[0].cores_busy, 1000);
    EXPECT_EQ(moment.workers[0].succeeded, 4u);
    EXPECT_EQ(moment.workers[0].failed, 3u);
    EXPECT_EQ(moment.workers[1].state, WorkerState::draining);
    EXPECT_EQ(moment.workers[2].state, WorkerState::left);
    ASSERT_EQ(moment.hosts.size(), 2u);
    EXPECT_EQ(moment.hosts[1].workers, 1u);
    const RunMoment early = moment_of(hand_made_run(), noon + 2 * second);
    EXPECT_EQ(early.workers.size(), 2u);
}

TEST(Moment, AWorkerThatComesBackIsStillExcludedAndDraining) {
    using records::journal::WorkerChange;
    model::RunView run = hand_made_run();
    run.workers[0].changes = {
        {noon + 5 * second, WorkerChange::draining, ""},     {noon + 6 * second, WorkerChange::excluded, ""},
        {noon + 7 * second, WorkerChange::disconnected, ""}, {noon + 8 * second, WorkerChange::back, ""},
        {noon + 9 * second, WorkerChange::admitted, ""},     {noon + 10 * second, WorkerChange::stays, ""}};
    const auto state_after = [&](int seconds) {
        return moment_of(run, noon + seconds * second).workers[0].state;
    };
    EXPECT_EQ(state_after(5), WorkerState::draining);
    EXPECT_EQ(state_after(6), WorkerState::excluded);
    EXPECT_EQ(state_after(7), WorkerState::disconnected);
    EXPECT_EQ(state_after(8), WorkerState::excluded);
    EXPECT_EQ(state_after(9), WorkerState::draining);
    EXPECT_EQ(state_after(10), WorkerState::busy);
}

TEST(Moment, FailuresOfOneKindAreOneRow) {
    const RunMoment moment = moment_of(hand_made_run(), {});
    ASSERT_EQ(moment.failures.size(), 3u);
    EXPECT_EQ(moment.failures[0].what, "exit 3");
    EXPECT_EQ(moment.failures[0].attempts, 2u);
    EXPECT_EQ(moment.failures[0].tasks, 1u);
    EXPECT_EQ(moment.failures[0].latest.size(), 1u);  // of one task
    EXPECT_EQ(moment.failures[0].hosts, std::vector<std::string>{"node1"});
}

TEST(Moment, WaitingHoldsUntilItsNextEntry) {
    EXPECT_EQ(moment_of(hand_made_run(), noon + 29 * second).waiting.at(0).tasks, 14u);
    const RunMoment moment = moment_of(hand_made_run(), {});
    ASSERT_EQ(moment.waiting.size(), 2u);
    EXPECT_EQ(moment.waiting[0].tasks, 4u);
    EXPECT_EQ(moment.waiting[1].reason, engine::model::WaitReason::nowhere);
}

TEST(Moment, PausesBetweenSessionsAreLeftOut) {
    model::RunView run = hand_made_run();
    run.sessions = {{noon, noon + 10 * second}, {noon + 30 * second, noon + 40 * second}};
    EXPECT_EQ(moment_of(run, {}).elapsed, std::chrono::seconds(20));
    EXPECT_EQ(moment_of(run, noon + 20 * second).elapsed, std::chrono::seconds(10));
    EXPECT_EQ(moment_of(run, noon + 35 * second).elapsed, std::chrono::seconds(15));
}

}  // namespace
}  // namespace wq::views::terminal
