// Calls within this process: each answered once, in whatever way it ends.
#include "node/launcher/function_runner.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <atomic>
#include <future>
#include <map>
#include <set>

namespace wq::node::launcher {
namespace {

using engine::model::CallMode;
using engine::model::Ending;
using ::testing::HasSubstr;

constexpr int patience_ms = 60000;  // until a test gives up; never how long it takes

// Functions that a test can hold up.
class Gate {
  public:
    void open() { promise_.set_value(); }
    void wait() { future_.wait(); }

  private:
    std::promise<void> promise_;
    std::shared_future<void> future_ = promise_.get_future().share();
};

class FunctionRunnerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        add("echo", [](std::string_view arguments) { return std::string(arguments); });
        add("fail", [](std::string_view arguments) -> std::string {
            throw std::runtime_error("no " + std::string(arguments));
        });
        add("odd", [](std::string_view) -> std::string { throw 7; });
    }
    ~FunctionRunnerTest() override {
        if (runner_) {
            EXPECT_TRUE(runner_->end(std::chrono::seconds(60)));
        }
    }

    void add(const std::string& name, std::function<std::string(std::string_view)> call,
             std::function<void(std::int64_t)> call_index = nullptr) {
        table_.add(name, {std::move(call), std::move(call_index)});
    }
    FunctionRunner& runner(std::size_t threads = 2) {
        if (!runner_) runner_.emplace(table_, threads);
        return *runner_;
    }
    void call(std::uint64_t task, const std::string& function, const std::string& arguments = "",
              CallMode mode = CallMode::direct) {
        runner().run(CallOrder{TaskId(task), 1, {function, arguments}}, mode);
    }
    void range(std::uint64_t first, std::uint64_t end, const std::string& function,
               std::int64_t first_index = 0) {
        runner().run(RangeOrder{BatchId(1), {first, end}, first_index, function});
    }

    void take() {
        for (CallReport& report : runner().next(instant_now())) {
            if (auto* end = std::get_if<TaskEnded>(&report)) note(*end);
            if (auto* back = std::get_if<OrderReturned>(&report)) {
                EXPECT_TRUE(returned_.insert(back->task.value()).second);
            }
            if (auto* progress = std::get_if<RangeProgress>(&report)) {
                ++progress_reports_;
                for (TaskEnded& failed : progress->failed) note(failed);
                note(progress->done, done_);
                note(progress->returned, back_);
                wall_us_ += progress->wall_us;
            }
        }
    }
    void note(TaskEnded& end) {
        order_.push_back(end.task.value());
        EXPECT_TRUE(ended_.emplace(end.task.value(), end).second) << "answered twice";
    }
    void note(const IntervalSet& part, IntervalSet& all) {
        part.for_each([&](Interval tasks) {
            all.for_each_in(tasks, [](Interval) { ADD_FAILURE() << "told twice"; });
            all.insert(tasks);
        });
    }
    void take_until(const std::function<bool()>& enough) {
        take();
        while (!enough()) {
            int wait = patience_ms;
            if (const auto at = runner().wakeup())
                wait =
                    static_cast<int>(std::max<std::int64_t>((*at - instant_now()).count() / 1000000 + 1, 0));
            pollfd ready{runner().descriptor(), POLLIN, 0};
            if (poll(&ready, 1, wait) == 0 && wait == patience_ms) {
                ADD_FAILURE() << "nothing came";
                return;
            }
            take();
        }
    }
    void take_all() {
        take_until([&] { return runner().held() == 0; });
    }

    process::FunctionTable table_;
    std::optional<FunctionRunner> runner_;
    std::map<std::uint64_t, TaskEnded> ended_;
    std::vector<std::uint64_t> order_;
    std::set<std::uint64_t> returned_;
    IntervalSet done_;
    IntervalSet back_;
    int progress_reports_ = 0;
    std::int64_t wall_us_ = 0;
};

TEST_F(FunctionRunnerTest, EveryCallIsAnsweredOnceWithItsOwnResult) {
    for (const CallMode mode : {CallMode::direct, CallMode::thread})
        for (std::uint64_t n = 0; n < 5000; ++n) {
            const std::uint64_t task = n + (mode == CallMode::thread ? 5000 : 0);
            call(task, "echo", std::to_string(task), mode);
            if (n % 100 == 0) take();
        }
    take_all();
    ASSERT_EQ(ended_.size(), 10'000);
    for (const auto& [task, end] : ended_) {
        EXPECT_TRUE(end.outcome.succeeded());
        EXPECT_EQ(end.output.result, std::to_string(task));
    }
}

TEST_F(FunctionRunnerTest, WhatWasForgottenIsNotTakenForWhatFollows) {
    Gate gate;
    std::promise<void> began;
    std::promise<void> left;
    add("held", [&](std::string_view) -> std::string {
        began.set_value();
        gate.wait();
        left.set_value();
        return "old";
    });
    call(1, "held");
    call(2, "echo", "old");
    take();
    began.get_future().wait();
    runner().forget(Duration{0});
    EXPECT_EQ(runner().held(), 0);
    call(1, "echo", "new");
    take_all();
    gate.open();
    left.get_future().wait();
    call(3, "echo", "newer");
    take_all();
    ASSERT_EQ(ended_.size(), 2);
    EXPECT_EQ(ended_.at(1).output.result, "new");
    EXPECT_EQ(ended_.at(3).output.result, "newer");
    EXPECT_FALSE(runner().end(std::chrono::seconds(60))) << "one ran on when it was forgotten";
    runner_.reset();
}

TEST_F(FunctionRunnerTest, DirectCallsRunOneAfterTheOtherInTheirOrder) {
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    add("count", [&](std::string_view) -> std::string {
        most = std::max<int>(most, ++running);
        --running;
        return "";
    });
    for (std::uint64_t task = 0; task < 1000; ++task) call(task, "count");
    take_all();
    EXPECT_EQ(most, 1);
    EXPECT_TRUE(std::is_sorted(order_.begin(), order_.end()));
    EXPECT_EQ(order_.size(), 1000);
}

TEST_F(FunctionRunnerTest, ThreadsRunAsManyAtOnceAsThereAre) {
    std::atomic<int> here = 0;
    std::promise<void> all_here;
    std::shared_future<void> go = all_here.get_future().share();
    add("meet", [&](std::string_view) -> std::string {
        if (++here == 3) all_here.set_value();  // none returns before all three run
        go.wait();
        return "";
    });
    runner(3);
    for (std::uint64_t task = 0; task < 3; ++task) call(task, "meet", "", CallMode::thread);
    take_all();
    EXPECT_EQ(ended_.size(), 3);
}

TEST_F(FunctionRunnerTest, WhatIsThrownIsTheReason) {
    for (const CallMode mode : {CallMode::direct, CallMode::thread}) {
        const std::uint64_t first = mode == CallMode::direct ? 0 : 10;
        call(first, "fail", "way", mode);
        call(first + 1, "odd", "", mode);
        call(first + 2, "echo", "still here", mode);
    }
    take_all();
    for (const std::uint64_t first : {0U, 10U}) {
        EXPECT_EQ(ended_[first].outcome.ending, Ending::raised);
        EXPECT_EQ(ended_[first].outcome.reason, "no way");
        EXPECT_FALSE(ended_[first].outcome.succeeded());
        EXPECT_EQ(ended_[first].output.result, "");
        EXPECT_EQ(ended_[first + 1].outcome.ending, Ending::raised);
        EXPECT_TRUE(ended_[first + 2].outcome.succeeded());
    }
}

TEST_F(FunctionRunnerTest, ANameThatNobodyRegisteredIsNotStarted) {
    call(1, "ecko");
    range(10, 13, "ecko");
    range(20, 22, "echo");  // it takes no index
    take_all();
    for (const std::uint64_t task : {1u, 10u, 11u, 12u}) {
        EXPECT_EQ(ended_[task].outcome.ending, Ending::not_started);
        EXPECT_EQ(ended_[task].outcome.exit_code, 127);
        EXPECT_THAT(ended_[task].outcome.reason, HasSubstr("'ecko'; it knows echo, fail, odd"));
    }
    EXPECT_EQ(ended_[20].outcome.ending, Ending::raised);
    EXPECT_EQ(ended_.size(), 6);
}

TEST_F(FunctionRunnerTest, WallTimeIsMeasuredAndCpuTimeOfLongCalls) {
    add("work", [](std::string_view) -> std::string {
        timespec now{};
        const auto used = [&] {
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
            return now.tv_sec * 1'000'000'000 + now.tv_nsec;
        };
        const auto begin = used();
        while (used() - begin < 20'000'000) {
        }
        return "";
    });
    call(1, "work");
    take_all();
    const engine::model::Outcome& outcome = ended_[1].outcome;
    EXPECT_GE(outcome.wall_us, 20'000);
    EXPECT_GE(outcome.user_us + outcome.system_us, 18'000);
    EXPECT_GT(outcome.started_us, 0);
}

TEST_F(FunctionRunnerTest, RecallAndKillReturnWhatHasNotBegun) {
    Gate gate;
    std::promise<void> begun;
    add("hold", [&](std::string_view) -> std::string {
        begun.set_value();
        gate.wait();
        return "kept";
    });
    call(1, "hold");
    for (std::uint64_t task = 2; task < 10; ++task) call(task, "echo");
    take();
    begun.get_future().wait();
    runner().recall(2);
    runner().kill(TaskId(4), 1);
    runner().kill(TaskId(99), 1);
    take_until([&] { return returned_.size() == 3; });
    EXPECT_THAT(returned_, testing::ElementsAre(4, 8, 9));
    runner().kill(TaskId(1), 1);  // it runs: its answer is dropped
    gate.open();
    take_all();
    EXPECT_EQ(ended_[1].outcome.ending, Ending::killed);
    EXPECT_EQ(ended_[1].output.result, "");
    EXPECT_TRUE(ended_[5].outcome.succeeded());
}

TEST_F(FunctionRunnerTest, KillAllLeavesNothingToRun) {
    Gate gate;
    std::promise<void> begun;
    add("hold", nullptr, [&](std::int64_t index) {
        if (index != 0) return;
        begun.set_value();
        gate.wait();
    });
    range(0, 100, "hold");
    for (std::uint64_t task = 200; task < 210; ++task) call(task, "echo", "", CallMode::direct);
    take();
    begun.get_future().wait();
    runner().kill_all();
    gate.open();
    take_all();
    EXPECT_EQ(done_.count(), 1);
    EXPECT_EQ(back_.count(), 99);
    EXPECT_EQ(returned_.size(), 10);
}

TEST_F(FunctionRunnerTest, ARangeIsToldOnceEachWithItsFailuresOneByOne) {
    std::vector<std::int64_t> seen;
    add("seven", nullptr, [&](std::int64_t index) {
        seen.push_back(index);
        if (index % 7 == 0) throw std::runtime_error("seven in " + std::to_string(index));
    });
    range(1000, 11'000, "seven", -5000);
    take_all();
    ASSERT_EQ(seen.size(), 10'000);
    for (std::size_t n = 0; n < seen.size(); ++n)
        ASSERT_EQ(seen[n], -5000 + static_cast<std::int64_t>(n)) << "in order, each once";
    EXPECT_EQ(done_.count() + ended_.size(), 10'000);
    for (const auto& [task, end] : ended_) {
        const std::int64_t index = static_cast<std::int64_t>(task) - 6000;
        EXPECT_EQ(index % 7, 0);
        EXPECT_EQ(end.outcome.ending, Ending::raised);
        EXPECT_EQ(end.outcome.reason, "seven in " + std::to_string(index));
        EXPECT_FALSE(done_.contains(task));
    }
    EXPECT_EQ(ended_.size(), 1429);
}

TEST_F(FunctionRunnerTest, ALongRangeIsReportedOnTheWay) {
    std::atomic<std::int64_t> last = 0;
    std::atomic<bool> enough = false;
    add("long", nullptr, [&](std::int64_t index) {
        last = index;
        // A ninth of a second each, until the test has seen a report of what is not over.
        const Instant until = instant_now() + std::chrono::milliseconds(110);
        while (!enough && instant_now() < until) {
        }
    });
    range(0, 1000, "long");
    take_until([&] { return !done_.empty(); });
    EXPECT_GT(runner().held(), 0);
    enough = true;
    take_all();
    EXPECT_EQ(done_.count(), 1000);
    EXPECT_GE(progress_reports_, 2);
}

TEST_F(FunctionRunnerTest, ReturnedRangesStopAfterTheIndexThatRuns) {
    Gate gate;
    std::promise<void> begun;
    add("stop", nullptr, [&](std::int64_t index) {
        if (index != 10) return;
        begun.set_value();
        gate.wait();
    });
    range(0, 1000, "stop");
    range(2000, 3000, "stop", 500);
    take();
    begun.get_future().wait();
    runner().return_ranges();
    gate.open();
    take_all();
    EXPECT_EQ(done_.count(), 11);
    EXPECT_EQ(back_.count(), 989 + 1000);
    range(5000, 5010, "stop", 500);  // those that come later run
    take_all();
    EXPECT_EQ(done_.count(), 21);
}

TEST_F(FunctionRunnerTest, AFunctionThatDoesNotReturnIsLetGo) {
    // What the function needs outlives the test: it is still in it when the runner is gone.
    static Gate gate;
    static std::promise<void> begun;
    static std::promise<void> left;
    add("hang", [](std::string_view) -> std::string {
        begun.set_value();
        gate.wait();
        left.set_value();
        return "";
    });
    call(1, "hang");
    take();
    begun.get_future().wait();
    EXPECT_FALSE(runner().end(std::chrono::milliseconds(1)));
    gate.open();
    left.get_future().wait();
    EXPECT_TRUE(runner().end(std::chrono::seconds(1)));
}

}  // namespace
}  // namespace wq::node::launcher
