// Tasks whose scarce resource is not cores: for a task without cores, workers are not ordered by cores.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class ScarceTest : public RunFixture {
  protected:
    static constexpr std::uint32_t workers = 20;

    void join_all(const Resources& offers, std::uint32_t count = workers, std::uint32_t first = 1) {
        for (std::uint32_t id = first; id < first + count; ++id)
            event(WorkerJoined{WorkerId(id), "node" + std::to_string(id), offers, {}, false});
    }
    std::size_t leased() {
        std::size_t count = 0;
        take([&](const std::string& line) { count += line.starts_with("lease ") ? 1 : 0; });
        return count;
    }
    static Shape asks(const Needs& needs) {
        Shape shape;
        shape.needs = needs;
        return shape;
    }
    std::size_t leases_at(std::uint32_t worker) const {
        return reactor_.workers().find(WorkerId(worker))->leases.size();
    }
    static Shape a_gpu() { return asks({.gpus = 1}); }
};

TEST_F(ScarceTest, TasksThatAskForGpusOnlyFillAllWorkers) {
    join_all({64, 64'000, 64'000, 4});
    add(80, a_gpu());
    EXPECT_EQ(leased(), 80u);
}

TEST_F(ScarceTest, SoDoThoseThatComeOneByOne) {
    join_all({64, 64'000, 64'000, 4});
    for (int task = 0; task < 80; ++task) add(1, a_gpu());
    EXPECT_EQ(leased(), 80u);
}

TEST_F(ScarceTest, TasksThatHoldMemoryOnlyFillAllWorkers) {
    join_all({4, 1000, 0, 0});
    add(80, asks({.cores = 0, .memory_mb = 250}));
    EXPECT_EQ(leased(), 80u);
}

TEST_F(ScarceTest, TasksThatHoldDiskOnlyFillAllWorkers) {
    join_all({4, 1000, 1000, 0});
    add(80, asks({.cores = 0, .disk_mb = 250}));
    EXPECT_EQ(leased(), 80u);
}

TEST_F(ScarceTest, TasksThatHoldNothingFillAllWorkers) {
    join_all({1, 1000, 0, 0});
    add(64 * workers, asks({.cores = 0}));
    EXPECT_EQ(leased(), std::size_t{64 * workers});
}

// The eight with most free cores have no free GPU.
TEST_F(ScarceTest, CoresWithAGpuAreFoundWhereGpusAreFree) {
    join_all({64, 64'000, 64'000, 4});
    add(8, asks({.cores = 1, .gpus = 4}));
    ASSERT_EQ(leased(), 8u);
    add(12, asks({.cores = 8}));
    ASSERT_EQ(leased(), 12u);
    add(48, asks({.cores = 1, .gpus = 1}));
    EXPECT_EQ(leased(), 48u);
}

// Full workers have as many free cores as idle ones.
TEST_F(ScarceTest, IdleWorkersAreFoundBehindThoseWhoseMemoryIsTaken) {
    join_all({4, 1000, 0, 0});
    for (std::uint32_t id = 1; id <= 12; ++id) {
        Shape shape = asks({.cores = 0, .memory_mb = 1000});
        shape.workers = {WorkerId(id)};
        add(1, shape);
    }
    ASSERT_EQ(leased(), 12u);
    add(8, asks({.cores = 1, .memory_mb = 1000}));
    EXPECT_EQ(leased(), 8u);
}

// Full workers have more memory left than the idle one has in total.
TEST_F(ScarceTest, AnIdleWorkerIsFoundBehindThoseWithMoreMemory) {
    join_all({4, 8000, 1000, 0}, 8);
    join_all({4, 5000, 1000, 0}, 1, 9);
    add(9, asks({.cores = 0, .memory_mb = 1000, .disk_mb = 1000}));
    EXPECT_EQ(leased(), 9u);
    EXPECT_EQ(leases_at(9), 1u);
}

TEST_F(ScarceTest, WhoeverHoldsNoCoreRunsWhereTasksQueueForCores) {
    options({.submit_multiplier = 2});
    join_all({4, 64'000, 64'000, 4}, 1);
    add(20, asks({.cores = 1}));
    ASSERT_EQ(leased(), 8u);
    add(4, a_gpu());
    EXPECT_EQ(leased(), 4u);
    add(1, asks({.cores = 0, .disk_mb = 1000}));
    EXPECT_EQ(leased(), 1u);
}

TEST_F(ScarceTest, AlsoWhereTheyQueueForPartsOfThem) {
    options({.submit_multiplier = 2});
    join_all({2, 64'000, 64'000, 4}, 1);
    add(3, asks({.cores = Count::of_thousandths(600)}));
    ASSERT_EQ(leased(), 3u);
    add(4, a_gpu());
    EXPECT_EQ(leased(), 4u);
}

TEST_F(ScarceTest, ShortTasksQueueForTheGpusThatThereAre) {
    join_all({64, 64'000, 64'000, 2}, 1);
    add(100, a_gpu());
    ASSERT_EQ(leased(), 2u);
    ok(1, 0, 1, 10ms);  // two of them cover 20 ms, at each GPU
    leased();
    EXPECT_EQ(leases_at(1), 2u + 4u);
}

TEST_F(ScarceTest, WhatQueuesForGpusIsRecalledForOneThatIdles) {
    join_all({64, 64'000, 64'000, 2}, 1);
    add(7, a_gpu());
    ASSERT_EQ(leased(), 2u);
    ok(1, 0, 1, 10ms);
    leased();
    ASSERT_EQ(leases_at(1), 6u);
    EXPECT_EQ(reactor_.workers().queued(), 4u);
    join_all({64, 64'000, 64'000, 2}, 1, 2);
    idle(60ms);
    expect({"recall 2 from 1"});
    give_back(1, 6);
    expect({"6 goes back", "lease 6.2 to 2"});
    give_back(1, 5);
    expect({"5 goes back", "lease 5.2 to 2"});
}

TEST_F(ScarceTest, SoIsWhatWasThereBeforeAnyWorker) {
    options({.submit_multiplier = 2});
    add(8, a_gpu());
    join_all({64, 64'000, 64'000, 4}, 1);
    ASSERT_EQ(leased(), 8u);
    join_all({64, 64'000, 64'000, 4}, 1, 2);
    idle(60ms);
    expect({"recall 4 from 1"});
}

}  // namespace
}  // namespace wq::engine::policies
