// The core with a program's manager: workers come and go, and nothing is given up.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class ProgramTest : public RunFixture {
  protected:
    void SetUp() override {
        options({.max_losses = 0, .expected_workers = 0, .wait_for_fitting = true, .seal_batches = true});
    }
};

TEST_F(ProgramTest, WaitsForWorkersAsLongAsItTakes) {
    add(1);
    end_input();
    idle(24h);
    expect({});
    EXPECT_EQ(reactor_.waiting_for(), "workers: none has joined");
    join_watched(1);
    expect({"lease 0.1 to 1"});
    lose(1);
    idle(24h);
    expect({"0.1 ended: worker lost: worker 1 on node1: gone"});
    EXPECT_EQ(reactor_.waiting_for(), "workers: all have left");
}

TEST_F(ProgramTest, TheOneOfAKindThatIsLargeEnoughIsFoundAmongMany) {
    WorkerJoined joined{WorkerId(0), "node", {1, 1000, 1100, 0}, {}};
    joined.watched = true;
    for (std::uint32_t id = 0; id < 100; ++id) {
        joined.worker = WorkerId(id);
        joined.offers.disk_mb = id == 99 ? 1500 : 1100;
        event(joined);
    }
    Shape large = cores(1);
    large.needs.disk_mb = 1400;
    add(1, large);
    expect({"lease 0.1 to 99"});
    large.needs.disk_mb = 1600;
    add(1, large);
    EXPECT_EQ(reactor_.waiting_for(), "1 task to end");
    ok(99, 0);
    expect({"0.1 ended for good: exit 0"});
    EXPECT_THAT(reactor_.waiting_for(), ::testing::HasSubstr("a worker with 1 core, 1600 MB disk"));
}

TEST_F(ProgramTest, WhatFitsNowhereWaitsForAWorkerThatHoldsIt) {
    join_watched(1);
    add(1, cores(4));
    add(1);
    end_input();
    expect({"lease 1.1 to 1"});
    ok(1, 1);
    expect({"1.1 ended for good: exit 0"});
    idle(24h);
    expect({"warning: tasks wait for a worker with 4 cores; the largest worker has 1"});
    join_watched(2, 4);
    expect({"lease 0.1 to 2"});
}

TEST_F(ProgramTest, ATaskMayBeLostWithAnyNumberOfWorkers) {
    add(1);
    for (std::uint32_t worker = 1; worker < 20; ++worker) {
        join_watched(worker, 4);
        lose(worker);
        const std::string attempt = "0." + std::to_string(worker);
        const std::string id = std::to_string(worker);
        const std::string leased = "lease " + attempt + " to " + id;
        const std::string lost = attempt + " ended: worker lost: worker " + id + " on node" + id + ": gone";
        expect({leased.c_str(), lost.c_str()});
    }
}

TEST_F(ProgramTest, SealsForWhateverRanksThereAre) {
    join(1, 1, true);
    add(40);
    expect({"seal batch 1: 0-39"});
}

TEST_F(ProgramTest, HoldsUntilSoManyWorkersWereThereAtOnce) {
    options({.expected_workers = 0, .wait_for_fitting = true, .hold_until_workers = 2});
    join_watched(1);
    add(4);
    away(1);
    join_watched(2);
    expect({});
    EXPECT_EQ(reactor_.waiting_for(), "2 workers connected at the same time; connected now: 1");
    back(1);
    std::set<std::string> leases;
    take([&](const std::string& line) { leases.insert(line); });
    EXPECT_EQ(leases, (std::set<std::string>{"lease 0.1 to 1", "lease 1.1 to 2"}));
    lose(2);  // and never any more
    ok(1, 0);
    expect(
        {"1.1 ended: worker lost: worker 2 on node2: gone", "0.1 ended for good: exit 0", "lease 1.2 to 1"});
    event(Tuned{3});
    ok(1, 1, 2);
    expect({"1.2 ended for good: exit 0"});
    event(Tuned{});
    expect({});
    event(Tuned{0});
    expect({"lease 2.1 to 1"});
}

}  // namespace
}  // namespace wq::engine::policies
