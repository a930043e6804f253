// Calls from submission to record, over workers of this process: each ends once, with its own result or
// reason.
#include <gmock/gmock.h>

#include <atomic>
#include <map>

#include "support/function_pool.h"

namespace wq::app {
namespace {

using core::CallMode;
using core::Ending;
using testing::FunctionPool;

class Calls : public ::testing::Test {
  protected:
    Calls() {
        functions_.add("echo", {[](std::string_view arguments) { return std::string(arguments); }, nullptr});
        functions_.add("fail", {[](std::string_view arguments) -> std::string {
                                    throw std::runtime_error("no " + std::string(arguments));
                                },
                                nullptr});
    }
    void listen(FunctionPool& pool) {
        pool.recorder.on_task = [&](stats::Recorded& ended) {
            EXPECT_TRUE(ended_.emplace(ended.record.task, ended).second) << "ended twice";
            pool.tasks.forget(ended.record.task);
        };
    }

    host::FunctionTable functions_;
    std::map<TaskId, stats::Recorded> ended_;
};

TEST_F(Calls, EachComesBackWithItsOwnResult) {
    for (const bool tickets : {false, true})
        for (const CallMode mode : {CallMode::direct, CallMode::thread}) {
            ended_.clear();
            FunctionPool pool(functions_, {.workers = 3, .tickets = tickets, .cores = 2});
            listen(pool);
            constexpr std::uint64_t count = 3000;
            for (std::uint64_t n = 0; n < count; ++n)
                pool.submit(n % 10 == 3 ? "fail" : "echo", std::to_string(n * n), mode);
            pool.end_input();
            pool.run();
            ASSERT_EQ(ended_.size(), count);
            for (const auto& [task, end] : ended_) {
                const std::string mine = std::to_string(task.value() * task.value());
                if (task.value() % 10 == 3) {
                    EXPECT_EQ(end.record.outcome.ending, Ending::raised);
                    EXPECT_EQ(end.record.outcome.reason, "no " + mine);
                } else {
                    EXPECT_TRUE(end.record.outcome.succeeded());
                    EXPECT_EQ(end.output.result, mine);
                }
            }
            EXPECT_EQ(pool.used_tickets(), tickets);
        }
}

TEST_F(Calls, WhatAWorkerDoesNotKnowFailsWithTheNamesThatItKnows) {
    FunctionPool pool(functions_);
    listen(pool);
    const TaskId task = pool.submit("ecko", "");
    pool.end_input();
    pool.run();
    EXPECT_EQ(ended_[task].record.outcome.ending, Ending::not_started);
    EXPECT_THAT(ended_[task].record.outcome.reason, ::testing::HasSubstr("it knows echo, fail"));
}

TEST_F(Calls, ALostWorkersCallsRunElsewhere) {
    FunctionPool pool(functions_, {.workers = 2});
    listen(pool);
    for (std::uint64_t n = 0; n < 2000; ++n) pool.submit("echo", std::to_string(n));
    pool.end_input();
    pool.run_until([&] { return ended_.size() >= 100; });
    pool.lose(1);
    pool.run();
    ASSERT_EQ(ended_.size(), 2000);
    for (const auto& [task, end] : ended_) EXPECT_EQ(end.output.result, std::to_string(task.value()));
}

TEST(CallTable, ArgumentsAreThereUntilForgotten) {
    CallTable table;
    for (std::uint64_t n = 0; n < 10'000; ++n)
        table.add({n % 2 == 0 ? "even" : "odd", std::string(n % 50, 'x'), CallMode::thread});
    const TaskId range = table.add_range("square", CallMode::direct, -1, 3);
    table.add({"odd", "last", CallMode::fork});
    EXPECT_EQ(table.size(), 10'004);
    for (std::uint64_t n = 0; n < 10'000; n += 3) table.forget(TaskId(n));
    for (std::uint64_t n = 0; n < 10'000; ++n) {
        const auto call = *table.text(TaskId(n)).call;
        EXPECT_EQ(call.function, n % 2 == 0 ? "even" : "odd");
        EXPECT_EQ(call.arguments, n % 3 == 0 ? "" : std::string(n % 50, 'x'));
        EXPECT_EQ(call.mode, CallMode::thread);
    }
    for (std::uint64_t n = 0; n < 10'000; ++n) table.forget(TaskId(n));  // some for the second time
    EXPECT_EQ(table.text(TaskId(1)).call->arguments, "");
    table.forget(range);
    EXPECT_EQ(table.text(range).call->arguments, index_arguments(-1));
    EXPECT_EQ(table.command(TaskId(range.value() + 2)), "square(1)");
    EXPECT_EQ(table.text(TaskId(10'003)).call->arguments, "last");
    EXPECT_EQ(table.command(TaskId(10'003)), "odd(4 bytes)");
}

TEST(CallTable, OnlyPartsOfOneRangeAreDescribed) {
    CallTable table;
    table.add({"one", "", CallMode::direct});
    const TaskId range = table.add_range("square", CallMode::direct, 100, 50);
    table.add_range("square", CallMode::direct, 0, 50);
    const auto described = [&](std::uint64_t first, std::uint64_t end) {
        IntervalSet tasks;
        tasks.insert(Interval{first, end});
        wire::SealedBatch sealed;
        table.describe(tasks, sealed);
        return sealed;
    };
    const wire::SealedBatch sealed = described(11, 51);
    ASSERT_TRUE(sealed.call);
    EXPECT_EQ(sealed.call->function, "square");
    EXPECT_EQ(sealed.first_item, range);
    EXPECT_EQ(sealed.first_index, 100);
    EXPECT_FALSE(described(0, 1).call);
    EXPECT_FALSE(described(0, 10).call);
    EXPECT_FALSE(described(11, 52).call);
}

}  // namespace
}  // namespace wq::app
