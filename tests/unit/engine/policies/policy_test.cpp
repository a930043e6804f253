// Single policies, each without the others: a test calls their functions as hooks and reactor would.
#include <gmock/gmock.h>

#include "engine/policies/dispatch.h"
#include "engine/policies/host_exclusion.h"
#include "engine/policies/run_end.h"
#include "engine/policies/slow_tasks.h"
#include "engine/policies/ticket_batches.h"
#include "engine/policies/unfit_tasks.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class PolicyTest : public ::testing::Test {
  protected:
    // Ready tasks that ask for `cores`.
    ShapeId add(std::uint64_t count, std::int64_t cores) {
        TaskRange range;
        range.first = TaskId(state_.ledger.size());
        range.count = count;
        range.shape.needs.cores = cores;
        const ShapeId shape = state_.ledger.add(range, 0);
        std::vector<Ask>& asks = state_.categories.asks;
        while (asks.size() < state_.ledger.shapes()) asks.emplace_back(range.shape.needs);
        state_.categories[range.shape.category].shapes.push_back(shape);
        state_.groups.add(range.first, count, {});
        state_.ledger.change(Interval{range.first.value(), range.first.value() + count}, TaskEvent::unblock);
        return shape;
    }
    Worker& join(std::uint32_t id, std::int64_t cores) {
        shared_.counters.count_joined();
        return state_.workers.add(
            {WorkerId(id), "node" + std::to_string(id), {cores, cores * 1000, 0, 0}, {}, false}, now());
    }
    Attempted& lease(Worker& worker, TaskId task) {
        shared_.attempts.lease(worker, task, state_.ledger.shape_of(task), Among::others);
        answer().clear();
        return state_.ledger.attempted(task);
    }
    void pass(Duration time) { shared_.event.open({now() + time, 0}, answer()); }
    Instant now() const { return shared_.event.now(); }
    // All actions so far.
    std::vector<Action>& answer() {
        std::vector<Action> more;
        shared_.event.close(more);
        actions_.insert(actions_.end(), more.begin(), more.end());
        return actions_;
    }

    template <class A>
    std::vector<A> all() {
        std::vector<A> some;
        for (const Action& action : answer())
            if (const auto* it = std::get_if<A>(&action)) some.push_back(*it);
        return some;
    }

    std::vector<Action> actions_;
    Hooks nobody_;
    Shared shared_{ReactorOptions{}, {Instant(1h), 0}, nobody_};
    State& state_ = shared_.state;
};

TEST_F(PolicyTest, ACopyOfAStragglerRunsOnAnotherWorker) {
    SpeculativeCopies copies(shared_);
    const ShapeId shape = add(1, 1);
    Worker& first = join(0, 1);
    join(1, 1);
    Tuned tuned;
    tuned.copies_from = 2;
    copies.tuned(tuned);
    copies.leased(TaskId(0), lease(first, TaskId(0)));
    EXPECT_EQ(copies.next_due(), std::nullopt) << "no mean is known";
    copies.range_succeeded(first, shape, 100, 100s, 1s);
    ASSERT_EQ(copies.next_due(), now() + 2s);

    pass(1s);
    copies.tick();
    EXPECT_TRUE(answer().empty());
    pass(1s + 1ms);
    copies.tick();
    const auto leases = all<Lease>();
    ASSERT_EQ(leases.size(), 1U);
    EXPECT_EQ(leases[0].worker, WorkerId(1));
    EXPECT_EQ(leases[0].attempt, 2U);
    EXPECT_TRUE(leases[0].copy);
    EXPECT_TRUE(state_.copies.contains(TaskId(0)));
    EXPECT_EQ(copies.next_due(), std::nullopt) << "one copy is enough";
    EXPECT_EQ(copies.audit(), std::nullopt);
    EXPECT_EQ(state_.audit(), std::nullopt);
}

TEST_F(PolicyTest, NothingIsCopiedWhileTasksWait) {
    SpeculativeCopies copies(shared_);
    const ShapeId shape = add(2, 1);
    Worker& first = join(0, 1);
    join(1, 1);
    Tuned tuned;
    tuned.copies_from = 2;
    copies.tuned(tuned);
    copies.leased(TaskId(0), lease(first, TaskId(0)));
    copies.range_succeeded(first, shape, 100, 100s, 1s);
    pass(5s);
    copies.tick();
    EXPECT_TRUE(answer().empty());
}

TEST_F(PolicyTest, ABlockedHostGetsNoTasksUntilItsTimeIsOver) {
    HostExclusion hosts(shared_);
    add(1, 1);
    Worker& worker = join(0, 1);
    lease(worker, TaskId(0));
    hosts.on(HostBlocked{"node0", 10s});
    EXPECT_FALSE(worker.available());
    EXPECT_EQ(all<Recall>().size(), 1U);
    ASSERT_EQ(hosts.next_due(), now() + 10s);
    pass(10s);
    hosts.tick();
    EXPECT_TRUE(worker.available());
    EXPECT_EQ(hosts.next_due(), std::nullopt);
    EXPECT_EQ(hosts.audit(), std::nullopt);
}

TEST_F(PolicyTest, NothingIsDispatchedUntilSoManyWorkersAreThere) {
    Dispatch dispatch(shared_);
    Tuned tuned;
    tuned.hold_until_workers = 2;
    dispatch.tuned(tuned);
    join(0, 1);
    EXPECT_FALSE(shared_.fit.dispatches());
    join(1, 1);
    EXPECT_TRUE(shared_.fit.dispatches());
}

TEST_F(PolicyTest, HostsAreExcludedOrNotAsTheProgramSays) {
    HostExclusion hosts(shared_);
    Tuned tuned;
    tuned.excludes_failing_hosts = false;
    hosts.tuned(tuned);
    EXPECT_FALSE(state_.options.excludes_failing_hosts);
    hosts.tuned({});
    EXPECT_FALSE(state_.options.excludes_failing_hosts);
}

TEST_F(PolicyTest, MonitoringHoldsForTheNextBatch) {
    TicketBatches batches(shared_);
    state_.batch.emplace();
    Tuned tuned;
    tuned.monitoring = Monitoring{};
    batches.tuned(tuned);
    EXPECT_FALSE(state_.batch->revoked) << "nothing has changed";
    tuned.monitoring->measures = true;
    batches.tuned(tuned);
    EXPECT_TRUE(state_.batch->revoked);
    EXPECT_TRUE(state_.options.monitoring.measures);
}

TEST_F(PolicyTest, WhatNoWorkerHoldsIsSkippedOnceThePoolIsComplete) {
    UnfitTasks unfit(shared_);
    add(3, 4);
    join(0, 2);
    unfit.skip_all();
    EXPECT_TRUE(answer().empty()) << "a larger worker may join";
    pass(10s);
    unfit.skip_all();
    const auto skipped = all<Skipped>();
    ASSERT_EQ(skipped.size(), 1U);
    EXPECT_EQ(skipped[0].tasks.count(), 3U);
    EXPECT_EQ(state_.ledger.count(TaskState::skipped), 3U);
}

TEST_F(PolicyTest, TheFirstFailureHaltsTheRun) {
    state_.options.halt_on_failure = true;
    RunEnd end(shared_);
    add(2, 1);
    Worker& worker = join(0, 1);
    lease(worker, TaskId(0));
    end.failed(TaskId(1));
    EXPECT_TRUE(state_.run.stopping());
    EXPECT_EQ(all<KillAll>().size(), 1U);
    end.finish_if_over();
    EXPECT_FALSE(end.finished()) << "a task has not ended yet";
    shared_.attempts.give_back(TaskId(0));
    end.finish_if_over();
    EXPECT_TRUE(end.finished());
    ASSERT_EQ(all<Finished>().size(), 1U);
    EXPECT_EQ(all<Finished>()[0].stopped, StopReason::halted);
}

}  // namespace
}  // namespace wq::engine::policies
