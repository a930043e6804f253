// The allocations of leased and claimed tasks.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class AllocationRun : public RunFixture {
  protected:
    void SetUp() override {
        ReactorOptions start{.max_losses = 0, .expected_workers = 0, .wait_for_fitting = true};
        start.allocation.rest = Rest::proportional;
        options(start);
    }
    // Unlike RunFixture::add(), no default of one core.
    void add_asking(std::uint64_t count, const Needs& needs) {
        Shape shape;
        shape.needs = needs;
        event(TasksAdded{{TaskId(reactor_.ledger().size()), count, std::move(shape), {}}, {}, {}});
    }
    void tune(AllocationRules rules) {
        Tuned tuned;
        tuned.allocation = rules;
        event(tuned);
    }
    void end_all(std::uint32_t worker, std::uint64_t count) {
        for (std::uint64_t task = 0; task < count; ++task) ok(worker, task);
        take([](const std::string& line) { EXPECT_TRUE(line.ends_with("exit 0")) << line; });
    }
    Resources given(std::uint64_t task) const {
        return reactor_.ledger().find_attempted(TaskId(task))->given;
    }
};

TEST_F(AllocationRun, WhoAsksForNothingHasTheWorkerToItself) {
    add_asking(2, {});
    join(1, 4);
    expect({"lease 0.1 to 1"});
    EXPECT_EQ(given(0), (Resources{4, 4000, 0, 0}));
    ok(1, 0);
    expect({"0.1 ended for good: exit 0", "lease 1.1 to 1"});
    EXPECT_EQ(reactor_.stats().committed_cores, 4);
    ok(1, 1);
    expect({"1.1 ended for good: exit 0"});
}

// "If [...] there are more workers than tasks waiting, then tasks are allocated all the free resources of a
// worker large enough to run them. If monitoring watchdog is not enabled, then this heuristic has no effect."
TEST_F(AllocationRun, TheLastTasksGetAllThatIsFree) {
    const auto given_to_last = [&](bool enforces) {
        ReactorOptions start{.max_losses = 0, .expected_workers = 0, .wait_for_fitting = true};
        start.monitoring = {.measures = true, .enforces = enforces};
        start.ramps_down = true;
        options(start);
        add_asking(4, {1, 100, 0, -1});
        join(1, 4);
        join(2, 4);
        std::vector<Resources> all;
        for (std::uint64_t task = 0; task < 4; ++task) all.push_back(given(task));
        for (std::uint64_t task = 0; task < 4; ++task)
            ok(reactor_.ledger().find_attempted(TaskId(task))->worker.value(), task);
        take([](const std::string&) {});
        return all;
    };
    const Resources said{1, 100, 0, 0};
    EXPECT_THAT(given_to_last(false), ::testing::Each(said));
    EXPECT_THAT(given_to_last(true), ::testing::ElementsAre(said, said, said, (Resources{1, 3700, 0, 0})))
        << "one worker was there when they came, and none waited behind the last";
}

TEST_F(AllocationRun, SharesAreSuchThatAWholeNumberOfTasksFits) {
    add_asking(5, {3, -1, -1, -1});
    join(1, 16);
    expect({"lease 0.1 to 1", "lease 1.1 to 1", "lease 2.1 to 1", "lease 3.1 to 1", "lease 4.1 to 1"});
    EXPECT_EQ(given(0), (Resources{3, 3200, 0, 0}));
    end_all(1, 5);
}

TEST_F(AllocationRun, ByTheLargestPartOfAResourceThatIsAskedFor) {
    add_asking(3, {1, 500, -1, -1});
    join(1, 1);
    expect({"lease 0.1 to 1"});
    EXPECT_EQ(given(0), (Resources{1, 1000, 0, 0})) << "all cores: the worker";
    ok(1, 0);
    expect({"0.1 ended for good: exit 0", "lease 1.1 to 1"});
    drain(1);
    join(2, 4);
    expect({"lease 2.1 to 2"});
    EXPECT_EQ(given(2), (Resources{1, 1000, 0, 0}));
}

TEST_F(AllocationRun, WithoutProportionsNoMoreIsGivenThanWasAskedFor) {
    tune({Rest::whole, true});
    add_asking(1, {3, 1, -1, -1});
    join(1, 16);
    expect({"lease 0.1 to 1"});
    EXPECT_EQ(given(0), (Resources{3, 1, 0, 0}));
}

TEST_F(AllocationRun, RulesThatChangeActOnWhatIsGivenOutNext) {
    add_asking(3, {1, 1, -1, -1});
    add_asking(2, {});
    join(1, 4);
    expect({"lease 0.1 to 1", "lease 1.1 to 1", "lease 2.1 to 1"});
    EXPECT_EQ(given(0), (Resources{1, 1000, 0, 0}));
    tune({Rest::whole, true});
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
    EXPECT_EQ(given(1), (Resources{1, 1000, 0, 0})) << "what runs has what it was given";
    add_asking(1, {1, 1, -1, -1});
    expect({"lease 5.1 to 1"});
    EXPECT_EQ(given(5), (Resources{1, 1, 0, 0}));
}

// Otherwise a stream of small tasks would keep it from ever being idle.
TEST_F(AllocationRun, AWholeWorkerIsKeptFreeForWhoWaitsTooLong) {
    join(1, 2);
    add_asking(2, {1, -1, -1, -1});
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    add_asking(1, {});
    add_asking(1000, {1, -1, -1, -1});
    std::uint64_t turns = 0;
    bool leased = false;
    const auto look = [&](const std::string& line) { leased = leased || line.starts_with("lease 2.1"); };
    for (std::vector<std::uint64_t> runs{0, 1}; !leased && turns < 1000; ++turns) {
        const std::uint64_t done = runs.front();
        runs.erase(runs.begin());
        ok(1, done);
        take([&](const std::string& line) {
            look(line);
            if (line.starts_with("lease ")) runs.push_back(std::stoull(line.substr(6)));
        });
        if (runs.empty()) break;
    }
    EXPECT_TRUE(leased) << turns;
    EXPECT_LT(turns, 1000U);
}

TEST_F(AllocationRun, AWorkerMayHoldMoreThanItRuns) {
    Tuned tuned;
    tuned.submit_multiplier = 2;
    event(tuned);
    add_asking(10, {1, -1, -1, -1});
    join(1, 2);
    expect({"lease 0.1 to 1", "lease 1.1 to 1", "lease 2.1 to 1", "lease 3.1 to 1"});
    EXPECT_EQ(reactor_.stats().tasks_running, 2);
    EXPECT_EQ(reactor_.stats().tasks_on_workers, 4);
}

class AllocationByTicket : public AllocationRun {
  protected:
    void SetUp() override {
        ReactorOptions start{.max_losses = 0, .expected_workers = 2, .seal_batches = true};
        start.allocation.rest = Rest::proportional;
        options(start);
    }
};

// Ranks compute allocations by the rules that came with the batch.
TEST_F(AllocationByTicket, ABatchKeepsTheRulesThatItWasSealedWith) {
    join(1, 4, true);
    join(2, 4, true);
    add_asking(1000, {});
    take([](const std::string& line) { EXPECT_EQ(line, "seal batch 1: 0-999"); });
    EXPECT_EQ(reactor_.stats().tasks_running, 2) << "one on each";
    EXPECT_EQ(reactor_.stats().committed_cores, 8);
    tune({Rest::whole, true});
    ok(1, 7);
    expect({"7.1 ended for good: exit 0"});
    EXPECT_EQ(last_ended_.given, (Resources{4, 4000, 0, 0}));
}

}  // namespace
}  // namespace wq::engine::policies
