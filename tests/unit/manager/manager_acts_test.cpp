// What a manager does of what its core decides, and in which order.
#include <gmock/gmock.h>

#include "manager/manager.h"
#include "manager/task_table.h"
#include "net/frames/loopback.h"
#include "support/fake_recorder.h"

namespace wq::manager {
namespace {

using ::testing::ElementsAre;

// One rank, which takes tickets.
class ManagerActs : public ::testing::Test {
  protected:
    ManagerActs() : manager_(options(), tasks_, recorder_, {}) { network_.connect(manager_peer, rank_peer); }

    static ManagerOptions options() {
        ManagerOptions options;
        options.reactor.seal_batches = true;
        options.most_unwritten_bytes = most_unwritten;
        return options;
    }

    // What the manager answers to that.
    std::vector<net::messages::Message> say(const net::messages::Message& message) {
        rank_end_->send(manager_peer, net::messages::encode(message));
        std::vector<net::frames::Arrival> inbox;
        manager_end_->poll(inbox);
        for (const net::frames::Arrival& arrival : inbox) manager_.on_arrival(*manager_end_, arrival, {});
        manager_.flush();
        inbox.clear();
        rank_end_->poll(inbox);
        std::vector<net::messages::Message> heard;
        for (const net::frames::Arrival& arrival : inbox)
            if (const auto* frame = std::get_if<net::frames::Frame>(&arrival)) {
                const auto decoded = net::messages::decode(frame->bytes);
                heard.insert(heard.end(), decoded->begin(), decoded->end());
            }
        return heard;
    }

    // The only task of a run is leased to the rank.
    void run_one_task() {
        tasks_.add_line("task", 1, 0);
        manager_.add({TaskId(0), 1, {}, {}}, {}, {}, {});
        manager_.end_input({});
        net::messages::Hello hello;
        hello.rank = 0;
        hello.host = "node";
        hello.offers = {2, 1000, 1000, 0};
        say(hello);
    }

    static constexpr net::frames::PeerId manager_peer{0};
    static constexpr net::frames::PeerId rank_peer{1};
    static constexpr std::uint64_t most_unwritten = 1000;
    net::frames::LoopbackNetwork network_{2};
    std::unique_ptr<net::frames::Transport> manager_end_ = network_.endpoint(manager_peer);
    std::unique_ptr<net::frames::Transport> rank_end_ = network_.endpoint(rank_peer);
    testing::FakeRecorder recorder_;
    TaskTable tasks_;
    Manager manager_;
};

// The task's end opens the group behind the barrier, which is sealed as a batch; recording that end fills the
// storage, which revokes the batch.
TEST_F(ManagerActs, WhatAnActionRaisesFollowsTheActionsBesideIt) {
    for (std::uint64_t line = 1; line <= 101; ++line) tasks_.add_line("task", line, 0);
    manager_.add({TaskId(0), 1, {}, {}}, {}, {}, {});
    manager_.add_barrier({});
    manager_.add({TaskId(1), 100, {}, {}}, {}, {}, {});
    net::messages::Hello hello;
    hello.rank = 0;
    hello.host = "node";
    hello.offers = {2, 1000, 1000, 0};
    hello.takes_tickets = true;
    say(hello);

    recorder_.set_backlog(most_unwritten + 1);
    std::vector<std::string> order;
    BatchId batch;
    for (const net::messages::Message& message : say(net::messages::Ended{TaskId(0), 1, {}, {}})) {
        if (const auto* sealed = std::get_if<net::messages::SealedBatch>(&message)) {
            batch = sealed->batch;
            order.emplace_back("sealed");
        }
        if (std::holds_alternative<net::messages::RevokedBatch>(message)) order.emplace_back("revoked");
    }
    EXPECT_THAT(order, ElementsAre("sealed", "revoked"));
    const auto answers = say(net::messages::WantTickets{batch});
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(std::get<net::messages::Tickets>(answers.front()).count, 0U)
        << "a revoked batch gives no tickets";
}

TEST_F(ManagerActs, TheRunWaitsForItsLastRecordsOnly) {
    run_one_task();
    EXPECT_FALSE(recorder_.hurried());
    say(net::messages::Ended{TaskId(0), 1, {}, {}});
    EXPECT_TRUE(manager_.finished());
    EXPECT_TRUE(recorder_.hurried());
    EXPECT_FALSE(manager_.over());
    recorder_.write();
    EXPECT_TRUE(manager_.over());
}

TEST_F(ManagerActs, AStopEndsTheWaitForTheDiskAlsoIfAllTasksEndAfterIt) {
    run_one_task();
    recorder_.set_trouble(true);
    manager_.on_recorder({});
    manager_.stop(engine::model::StopReason::interrupted, std::chrono::hours(1), {});
    EXPECT_FALSE(manager_.over());
    say(net::messages::Ended{TaskId(0), 1, {}, {}});
    EXPECT_TRUE(manager_.over());
}

}  // namespace
}  // namespace wq::manager
