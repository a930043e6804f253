// Calls from submission to record, over workers of this process: each ends once, with its own result or
// reason.
#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "net/messages/msgpack_library.h"
#include "support/function_pool.h"

namespace wq::worker {
namespace {

using engine::model::CallMode;
using engine::model::Ending;
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
        pool.recorder.on_task = [&](records::recorder::Recorded& ended) {
            EXPECT_TRUE(ended_.emplace(ended.record.task, ended).second) << "ended twice";
            pool.tasks.forget(ended.record.task);
        };
    }

    node::process::FunctionTable functions_;
    std::map<TaskId, records::recorder::Recorded> ended_;
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

// Counts for every index how often it ran, and how often it was told to be done or to have failed.
class Ranges : public ::testing::Test {
  protected:
    static constexpr std::int64_t first_index = -1000;

    explicit Ranges() {
        const auto count = [this](std::int64_t index) {
            ++runs_[static_cast<std::size_t>(index - first_index)];
            if (failing_ > 0 && index % failing_ == 0)
                throw std::runtime_error("bad " + std::to_string(index));
        };
        functions_.add("count", {[count](std::string_view arguments) {
                                     const auto handle = msgpack::unpack(arguments.data(), arguments.size());
                                     count(std::get<0>(handle->as<std::tuple<std::int64_t>>()));
                                     return std::string();
                                 },
                                 count});
        functions_.add("packed", {[this](std::string_view arguments) {
                                      const std::lock_guard lock(mutex_);
                                      packed_.insert(std::string(arguments));
                                      return std::string("r");
                                  },
                                  nullptr});
    }
    void listen(FunctionPool& pool, TaskId first, std::uint64_t count) {
        runs_ = std::vector<std::atomic<int>>(count);
        first_ = first;
        pool.recorder.on_range = [this](const records::journal::RangeRecord& record) {
            record.tasks.for_each([&](Interval part) {
                for (std::uint64_t task = part.first; task < part.end; ++task) note(task, true);
            });
        };
        pool.recorder.on_task = [this](records::recorder::Recorded& ended) {
            note(ended.record.task.value(), ended.record.outcome.succeeded());
            if (ended.record.outcome.ending == Ending::raised) {
                EXPECT_EQ(
                    ended.record.outcome.reason,
                    "bad " + std::to_string(first_index + static_cast<std::int64_t>(
                                                              ended.record.task.value() - first_.value())));
            }
        };
    }
    void note(std::uint64_t task, bool good) {
        EXPECT_TRUE(told_.emplace(task - first_.value(), good).second) << task << " was told twice";
        good ? ++good_ : ++bad_;
    }

    node::process::FunctionTable functions_;
    std::vector<std::atomic<int>> runs_;
    std::mutex mutex_;
    std::set<std::string> packed_;
    std::int64_t failing_ = 0;
    TaskId first_;
    std::map<std::uint64_t, bool> told_;
    std::uint64_t good_ = 0;
    std::uint64_t bad_ = 0;
};

TEST_F(Ranges, EveryIndexRunsOnceAndIsToldOnce) {
    constexpr std::uint64_t count = 100'000;
    failing_ = 1000;
    FunctionPool pool(functions_, {.workers = 2, .tickets = true});
    listen(pool, TaskId(0), count);
    pool.submit_range("count", first_index, count);
    pool.end_input();
    pool.run();
    EXPECT_TRUE(pool.used_tickets());
    EXPECT_EQ(good_ + bad_, count);
    EXPECT_EQ(bad_, 100);
    for (std::uint64_t place = 0; place < count; ++place) {
        ASSERT_EQ(runs_[place], 1);
        ASSERT_EQ(told_[place], (first_index + static_cast<std::int64_t>(place)) % 1000 != 0);
    }
}

TEST_F(Ranges, ThatFollowOneAnotherAndCallsBetweenThem) {
    FunctionPool pool(functions_, {.workers = 2, .tickets = true});
    listen(pool, TaskId(0), 30'100);
    pool.submit_range("count", first_index, 10'000);
    for (int n = 0; n < 100; ++n) pool.submit("packed", std::to_string(n));
    pool.submit_range("count", first_index + 10'100, 20'000);
    pool.end_input();
    pool.run();
    EXPECT_EQ(good_, 30'100);
    EXPECT_EQ(packed_.size(), 100);
    for (std::uint64_t place = 0; place < 30'100; ++place)
        ASSERT_EQ(runs_[place], place < 10'000 || place >= 10'100 ? 1 : 0) << place;
}

TEST_F(Ranges, OnThreadsAndWithoutTicketsTheyAreCallsWithOneArgument) {
    for (const bool tickets : {true, false}) {
        packed_.clear();
        told_.clear();
        good_ = 0;
        FunctionPool pool(functions_, {.workers = 2, .tickets = tickets, .cores = 2});
        listen(pool, TaskId(0), 2000);
        pool.submit_range("packed", first_index, 2000, CallMode::thread);
        pool.end_input();
        pool.run();
        EXPECT_EQ(good_, 2000);
        std::set<std::string> wanted;
        for (std::int64_t index = first_index; index < first_index + 2000; ++index)
            wanted.insert(ranks::tickets::index_arguments(index));
        EXPECT_EQ(packed_, wanted);
    }
}

TEST_F(Ranges, OfALostWorkerRunElsewhereAndAreToldOnce) {
    constexpr std::uint64_t count = 200'000;
    for (const std::uint64_t when : {1U, 2000U, 50'000U, 150'000U}) {
        told_.clear();
        good_ = bad_ = 0;
        failing_ = 1001;
        FunctionPool pool(functions_, {.workers = 3, .tickets = true});
        listen(pool, TaskId(0), count);
        pool.submit_range("count", first_index, count);
        pool.end_input();
        pool.run_until([&] { return good_ >= when; });
        pool.lose(1);
        pool.run();
        EXPECT_EQ(good_ + bad_, count);
        std::uint64_t failing = 0;
        for (std::uint64_t place = 0; place < count; ++place) {
            ASSERT_GE(runs_[place], 1);
            failing += (first_index + static_cast<std::int64_t>(place)) % 1001 == 0;
        }
        EXPECT_EQ(bad_, failing);
    }
}

TEST_F(Ranges, AStopReturnsWhatHasNotRun) {
    constexpr std::uint64_t count = 10'000'000;
    std::atomic<std::uint64_t> ran = 0;
    functions_.add("slow", {[&](std::string_view) {
                                ++ran;
                                return std::string();
                            },
                            [&](std::int64_t) { ++ran; }});
    FunctionPool slow(functions_, {.workers = 2, .tickets = true});
    listen(slow, TaskId(0), 0);
    slow.submit_range("slow", 0, count);
    slow.end_input();
    slow.run_until([&] { return good_ > 0; });
    slow.manager().stop(engine::model::StopReason::interrupted, std::chrono::seconds(60), slow.now());
    slow.run();
    EXPECT_LT(good_, count);
    EXPECT_EQ(good_, ran) << "what ran was told, what was not told did not run";
}

TEST_F(Ranges, ACancelledRangeEndsWithoutTheRestOfIt) {
    FunctionPool pool(functions_, {.workers = 2, .tickets = true});
    listen(pool, TaskId(0), 1'000'000);
    pool.submit_range("count", first_index, 1'000'000);
    pool.end_input();
    pool.run_until([&] { return good_ > 0; });
    pool.manager().ask(engine::model::CancelRequested{Interval{999'000, 1'000'000}}, pool.now());
    pool.run();
    for (std::uint64_t place = 0; place < 999'000; ++place) ASSERT_TRUE(told_.contains(place)) << place;
}

}  // namespace
}  // namespace wq::worker
