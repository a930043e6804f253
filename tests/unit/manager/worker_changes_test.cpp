// What is recorded of workers while they are part of the run.
#include <algorithm>

#include "sessions_fixture.h"

namespace wq::manager {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkerChangesTest : public Sessions {
  protected:
    engine::model::Now at(int second) const { return {Instant{} + seconds(second), second * 1'000'000}; }

    // "joined 3 at 5: why", since the last call.
    std::vector<std::string> changes() {
        std::vector<std::string> all;
        for (; told_ < recorder_.worker_changes().size(); ++told_) {
            const records::journal::WorkerChangeRecord& one = recorder_.worker_changes()[told_];
            all.push_back(name_of(one.change) + std::string(" ") + std::to_string(one.worker.value()) +
                          " at " + std::to_string(one.time_us / 1'000'000) + (one.why.empty() ? "" : ": ") +
                          one.why);
        }
        return all;
    }

    Peer join(const std::string& identity, int second = 0) {
        Peer joined = peer();
        tell(joined, hello(identity), second);
        return joined;
    }
    void tell(Peer& peer, const net::messages::Message& message, int second) {
        peer.end->send(manager_peer, net::messages::encode(message));
        turn(at(second));
    }

  private:
    std::size_t told_ = 0;
};

TEST_F(WorkerChangesTest, OfAWorkerThatComesAndGoes) {
    Peer worker = join("one", 5);
    EXPECT_THAT(changes(), ElementsAre("joined 3 at 5"));
    tell(worker, net::messages::Draining{}, 6);
    tell(worker, net::messages::Draining{}, 7);
    EXPECT_THAT(changes(), ElementsAre("draining 3 at 6: it leaves by itself"));
    tell(worker, net::messages::Goodbye{"its job ends", false}, 8);
    EXPECT_THAT(changes(), ElementsAre("left 3 at 8: its job ends"));
}

TEST_F(WorkerChangesTest, OfAHostThatIsDrainedAndIsNotAnyMore) {
    const Peer worker = join("one");
    EXPECT_THAT(changes(), ElementsAre("joined 3 at 0"));
    manager_.release().drain("node", true, at(2));
    EXPECT_THAT(changes(), ElementsAre("draining 3 at 2: the manager releases it"));
    manager_.release().drain("node", false, at(3));
    EXPECT_THAT(changes(), ElementsAre("stays 3 at 3"));
}

TEST_F(WorkerChangesTest, OfABlockedHost) {
    const Peer one = join("one");
    const Peer other = join("other");
    EXPECT_THAT(changes(), ElementsAre("joined 3 at 0", "joined 4 at 0"));
    manager_.ask(engine::model::HostBlocked{"elsewhere", {}}, at(1));
    EXPECT_THAT(changes(), IsEmpty());
    manager_.ask(engine::model::HostBlocked{"node", {}}, at(2));
    EXPECT_THAT(changes(), ElementsAre("excluded 3 at 2: the program has blocked its host",
                                       "excluded 4 at 2: the program has blocked its host"));
    const Peer late = join("late", 3);
    EXPECT_THAT(changes(), ElementsAre("joined 5 at 3", "excluded 5 at 3: its host was excluded before"));
    manager_.ask(engine::model::HostUnblocked{}, at(4));
    EXPECT_THAT(changes(), ElementsAre("admitted 3 at 4", "admitted 4 at 4", "admitted 5 at 4"));
}

TEST_F(WorkerChangesTest, OfAHostThatIsBlockedForATime) {
    const Peer one = join("one");
    EXPECT_THAT(changes(), ElementsAre("joined 3 at 0"));
    manager_.ask(engine::model::HostBlocked{"node", seconds(5)}, at(1));
    EXPECT_THAT(changes(), ElementsAre("excluded 3 at 1: the program has blocked its host"));
    turn(at(5));
    EXPECT_THAT(changes(), IsEmpty());
    turn(at(6));
    EXPECT_THAT(changes(), ElementsAre("admitted 3 at 6"));
}

TEST_F(WorkerChangesTest, OfAConnectionThatIsCutAndComesBack) {
    Peer worker = peer();
    worker.end->send(manager_peer, net::messages::encode(hello("one")));
    turn(at(1));
    const auto answers = heard(worker);
    const auto* welcome = first<net::messages::Welcome>(answers);
    ASSERT_NE(welcome, nullptr);
    EXPECT_THAT(changes(), ElementsAre("joined 3 at 1"));
    network_.cut(ids_.back(), manager_peer, "connection reset");
    turn(at(2));
    EXPECT_THAT(changes(), ElementsAre("disconnected 3 at 2: connection reset"));
    net::messages::Hello again = hello("one");
    again.resume = welcome->resume;
    Peer back = peer();
    tell(back, again, 3);
    EXPECT_THAT(changes(), ElementsAre("back 3 at 3"));
    network_.cut(ids_.back(), manager_peer, "connection reset");
    turn(at(4));
    for (int n = 8; n <= 140; ++n)  // a loop never stands still for long
        turn({Instant{} + n * std::chrono::milliseconds(500), n * 500'000});
    const auto last = changes();
    ASSERT_EQ(last.size(), 2u);
    EXPECT_EQ(last[0], "disconnected 3 at 4: connection reset");
    EXPECT_THAT(last[1], ::testing::StartsWith("left 3 at 64: connection reset; did not reconnect"));
}

TEST_F(WorkerChangesTest, OfAllAtTheEnd) {
    const Peer one = join("one");
    const Peer other = join("other");
    static_cast<void>(changes());
    manager_.dismiss_all("the run is over", at(9));
    auto last = changes();
    std::sort(last.begin(), last.end());
    EXPECT_THAT(last, ElementsAre("left 3 at 9: the run is over", "left 4 at 9: the run is over"));
}

// A reactor alone.
struct ReactorOnly final : Router {
    engine::policies::Reactor engine{engine::policies::ReactorOptions{}, {}};
    bool run_is_over() const override { return false; }
    const engine::policies::Reactor& reactor() const override { return engine; }
    engine::model::ManagerStats stats() const override { return {}; }
    void react(const engine::model::Event&, engine::model::Now) override {}
    void print_line(const std::string&) override {}
};

TEST(WorkerChangesOfTheEngine, SayWhyAHostIsExcluded) {
    ReactorOnly router;
    testing::FakeRecorder recorder;
    WorkerChanges changes(recorder, router);
    std::vector<engine::model::Action> actions;
    engine::model::WorkerJoined joined;
    joined.worker = WorkerId(1);
    joined.host = "bad";
    joined.offers.cores = 1;
    router.engine.on(joined, {}, actions);
    const engine::model::Event blocked = engine::model::HostBlocked{"bad", {}};
    router.engine.on(blocked, {}, actions);
    changes.note(blocked, {}, {engine::model::HostExcluded{"bad", "its last 9 tasks failed", 0}}, {{}, 7});
    changes.note(blocked, {}, {}, {{}, 8});
    ASSERT_EQ(recorder.worker_changes().size(), 1u);
    EXPECT_EQ(recorder.worker_changes()[0].change, records::journal::WorkerChange::excluded);
    EXPECT_EQ(recorder.worker_changes()[0].why, "its last 9 tasks failed");
    EXPECT_EQ(recorder.worker_changes()[0].time_us, 7);
}

// What tasks ask for, and how many of them wait.
class WaitsTest : public Sessions {
  protected:
    engine::model::Now at(int second) const { return {Instant{} + seconds(second), second * 1'000'000}; }

    // "4 busy of 1 at 5", since the last call.
    std::vector<std::string> waits() {
        std::vector<std::string> all;
        for (; told_ < recorder_.waits().size(); ++told_) {
            const records::journal::WaitingRecord& one = recorder_.waits()[told_];
            all.push_back(std::to_string(one.tasks) + " " + name_of(one.reason) + " of " +
                          std::to_string(one.ask.value()) + " at " + std::to_string(one.time_us / 1'000'000));
        }
        return all;
    }

  private:
    std::size_t told_ = 0;
};

TEST_F(WaitsTest, AreRecordedWithSamplesIfTheyHaveChanged) {
    turn(at(1));
    EXPECT_THAT(waits(), ElementsAre("4 no_worker of 1 at 1"));
    ASSERT_EQ(recorder_.asks().size(), 1u);
    EXPECT_EQ(recorder_.asks()[0].ask, records::journal::AskId(1));
    EXPECT_EQ(recorder_.asks()[0].needs, engine::model::Needs{});
    turn(at(20));
    EXPECT_THAT(waits(), IsEmpty()) << "nothing has changed";
    engine::model::Shape large;
    large.needs.cores = 16;
    large.features = {"fast"};
    large.priority = 5;  // of no meaning here
    tasks_.add_line("task", 1, 0);
    manager_.add({TaskId(4), 1, large, {}}, {}, {}, at(21));
    engine::model::Shape same = large;
    same.timeout = seconds(60);
    tasks_.add_line("task", 1, 0);
    manager_.add({TaskId(5), 1, same, {}}, {}, {}, at(21));
    turn(at(21));
    EXPECT_THAT(waits(), ElementsAre("2 no_worker of 2 at 21"));
    ASSERT_EQ(recorder_.asks().size(), 2u) << "shapes with the same needs and features are one ask";
    EXPECT_EQ(recorder_.asks()[1].needs.cores, Count(16));
    EXPECT_THAT(recorder_.asks()[1].features, ElementsAre("fast"));
    Peer worker = peer();
    worker.end->send(manager_peer, net::messages::encode(hello("one")));
    turn(at(22));
    EXPECT_THAT(waits(), ElementsAre("0 no_worker of 1 at 22", "0 no_worker of 2 at 22", "3 busy of 1 at 22",
                                     "2 nowhere of 2 at 22"));
    manager_.ask(engine::model::CancelRequested{{0, 6}}, at(23));
    manager_.end_samples(at(23));
    EXPECT_THAT(waits(), ElementsAre("0 busy of 1 at 23", "0 nowhere of 2 at 23", "1 program of 0 at 23"));
}

TEST_F(WaitsTest, AttemptsHaveWhatTheyAskedForAndWhenTheyWereReady) {
    engine::model::Shape small;
    small.needs.cores = 1;
    tasks_.add_line("task", 1, 0);
    manager_.ask(engine::model::CancelRequested{{0, 4}}, at(1));
    manager_.add({TaskId(4), 1, small, {}}, {}, {}, at(2));
    Peer worker = peer();
    worker.end->send(manager_peer, net::messages::encode(hello("one")));
    turn(at(5));
    worker.end->send(manager_peer, net::messages::encode(net::messages::Ended{TaskId(4), 1, {}, {}}));
    turn(at(6));
    recorder_.write();
    ASSERT_EQ(recorder_.written().size(), 1u);
    const records::journal::TaskRecord& record = recorder_.written()[0].record;
    EXPECT_EQ(record.ready_us, 2'000'000);
    EXPECT_EQ(record.dispatched_us, 5'000'000);
    const auto& asks = recorder_.asks();
    const auto known = std::find_if(asks.begin(), asks.end(), [&](const records::journal::AskRecord& ask) {
        return ask.ask == record.ask;
    });
    ASSERT_NE(known, asks.end());
    EXPECT_EQ(known->needs, small.needs);
}

}  // namespace
}  // namespace wq::manager
