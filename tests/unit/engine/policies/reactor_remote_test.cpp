// Remote tasks take coprocesses of a worker, and nothing else.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using ::testing::HasSubstr;

class RemoteTest : public RunFixture {
  protected:
    void join_with(std::uint32_t worker, std::int64_t coprocesses, const std::string& name = "a",
                   std::int64_t cores = 1) {
        WorkerJoined joined{WorkerId(worker),
                            "node" + std::to_string(worker),
                            {cores, 1000, 1000, 0, coprocesses},
                            {},
                            false};
        joined.features = {"coprocess:" + name};
        event(joined);
    }
    static Shape remote(const std::string& name = "a") {
        Shape shape;
        shape.needs.coprocesses = 1;
        shape.leased_only = true;
        shape.features = {"coprocess:" + name};
        return shape;
    }
    std::size_t leased() {
        std::size_t count = 0;
        take([&](const std::string& line) { count += line.starts_with("lease ") ? 1 : 0; });
        return count;
    }
};

TEST_F(RemoteTest, RunBesideTasksThatFillTheWorker) {
    join_with(1, 3);
    add(2, cores(1));
    expect({"lease 0.1 to 1"});
    add(5, remote());
    expect({"lease 2.1 to 1", "lease 3.1 to 1", "lease 4.1 to 1"});
    EXPECT_EQ(reactor_.workers().find(WorkerId(1))->used, (Resources{1, 1000, 0, 0, 3}));
    ok(1, 2);
    take([](const std::string&) {});
    ok(1, 0);
    take([](const std::string&) {});
    EXPECT_GE(reactor_.ledger().count(TaskState::leased), 4u);
}

TEST_F(RemoteTest, FillAllWorkersWhateverElseTheyAskFor) {
    for (std::uint32_t worker = 1; worker <= 20; ++worker) join_with(worker, 4);
    Shape shape = remote();
    shape.needs.cores = 16;
    shape.needs.memory_mb = 1 << 20;
    add(100, shape);
    EXPECT_EQ(leased(), 80u);
}

TEST_F(RemoteTest, GoOnlyWhereTheirCoprocessIs) {
    ReactorOptions waits;
    waits.wait_for_fitting = true;
    options(waits);
    join(1);
    join_with(2, 2, "b");
    add(2, remote());
    add(1, remote("b"));
    expect({"lease 2.1 to 2"});
    join_with(3, 1);
    expect({"lease 0.1 to 3"});
    lose(3);
    take([](const std::string&) {});
    join_with(4, 2);
    EXPECT_EQ(leased(), 2u);
}

TEST_F(RemoteTest, OfACategoryThatSizesItsTasksAreNotSized) {
    CategorySet set{CategoryId(0)};
    set.mode = AllocationMode::max;
    set.max = Sizes{.cores = 4000, .memory_mb = 100'000};
    event(set);
    take([](const std::string&) {});
    join_with(1, 2);
    add(3, remote());
    EXPECT_EQ(leased(), 2u);
    Outcome exhausted;
    exhausted.ending = Ending::exhausted;
    exhausted.measured.emplace().exceeded.cores = 1000;
    report(1, 0, 1, exhausted);
    std::size_t failed = 0;
    take([&](const std::string& line) { failed += line.starts_with("0.1 ended for good") ? 1 : 0; });
    EXPECT_EQ(failed, 1u);
}

TEST_F(RemoteTest, ThatCannotRunAreNamed) {
    ReactorOptions waits;
    waits.wait_for_fitting = true;
    options(waits);
    join(1);
    add(1, remote());
    idle(std::chrono::minutes(2));
    std::string warning;
    take([&](const std::string& line) { warning += line; });
    EXPECT_THAT(warning, HasSubstr("tasks wait for a worker with coprocess 'a', which no worker has"));
}

TEST_F(RemoteTest, ThatQueueAreRecalledForIdleCoprocesses) {
    join_with(1, 1);
    Shape shape = remote();
    add(1, shape);
    expect({"lease 0.1 to 1"});
    ok(1, 0, 1, std::chrono::milliseconds(1));
    take([](const std::string&) {});
    add(20, shape);
    EXPECT_GT(leased(), 1u);
    EXPECT_GT(reactor_.workers().queued(), 0u);
    join_with(2, 1);
    idle(std::chrono::seconds(2));
    bool recalled = false;
    take([&](const std::string& line) { recalled = recalled || line.starts_with("recall "); });
    EXPECT_TRUE(recalled);
}

}  // namespace
}  // namespace wq::engine::policies
