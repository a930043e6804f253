#include "manager/run/rank_loop.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <utility>

#include "manager/task_table.h"
#include "support/fake_recorder.h"

namespace wq::manager::run {
namespace {

using namespace std::chrono_literals;

constexpr net::frames::PeerId rank{1};

class NoTasks final : public Source {
  public:
    int descriptor() const override { return -1; }
    Status read(manager::Manager&, engine::model::Now) override { return success(); }
    bool ended() const override { return true; }
    std::string name() const override { return "none"; }
};

// Each time it is asked a rank has said the same.
class Talkative final : public net::frames::Transport {
  public:
    explicit Talkative(const net::messages::Message& says) : says_(net::messages::encode(says)) {}
    void send(net::frames::PeerId, std::string) override {}
    bool poll(std::vector<net::frames::Arrival>& inbox) override {
        if (!std::exchange(joined_, true)) {
            net::messages::Hello hello;
            hello.rank = rank.value();
            hello.host = "node";
            hello.offers = {1, 1, 1, 0};
            inbox.push_back(net::frames::Joined{rank, "node"});
            inbox.push_back(net::frames::Frame{rank, net::messages::encode(hello)});
        }
        inbox.push_back(net::frames::Frame{rank, says_});
        return true;
    }
    void close(net::frames::PeerId) override {}
    bool idle() const override { return true; }
    std::vector<int> descriptors() const override { return {}; }
    bool wants_asking() const override { return false; }  // so that a turn that waits waits long

  private:
    const std::string says_;
    bool joined_ = false;
};

// How long so many turns take that may each wait for `longest`.
Duration time_of(int turns, Duration longest, const net::messages::Message& says) {
    Talkative ranks(says);
    testing::FakeRecorder recorder;
    manager::TaskTable tasks;
    manager::ManagerOptions options;
    options.reactor.expected_workers = 1;
    manager::Manager manager(options, tasks, recorder, now());
    NoTasks none;
    ManagerLoopParts parts{manager, none, recorder};
    parts.wires = {&ranks};
    parts.each_turn = [&](Instant at) -> std::optional<Instant> {
        if (--turns <= 0) manager.stop(engine::model::StopReason::interrupted, Duration{0}, now());
        return at + longest;
    };
    const Instant begun = instant_now();
    EXPECT_TRUE(ManagerLoop(std::move(parts)).run());
    return instant_now() - begun;
}

TEST(ManagerLoop, ASignOfLifeIsNoReasonToAskAgainAtOnce) {
    EXPECT_GE(time_of(20, 10ms, net::messages::Beat{}), 10 * 10ms);
    // All turns together take less than one wait.
    EXPECT_LT(time_of(20, 5s, net::messages::EnvironmentReport{}), 5s);
}

// Each piece takes a while to read and has many tasks.
class LongList final : public Source {
  public:
    static constexpr Duration each = 2ms;
    static constexpr int pieces = 6;
    int descriptor() const override { return -1; }
    Status read(manager::Manager& manager, engine::model::Now now) override {
        poll(nullptr, 0, each / 1ms);
        constexpr std::uint64_t tasks = 10'000;
        manager.add({TaskId(tasks * read_++), tasks, {}, {}}, {}, {}, now);
        return success();
    }
    bool ended() const override { return read_ == pieces; }
    std::string name() const override { return "long"; }

  private:
    std::uint64_t read_ = 0;
};

TEST(ManagerLoop, WhileEnoughTasksWaitTheRestOfAListIsReadNowAndThen) {
    testing::FakeRecorder recorder;
    manager::TaskTable tasks;
    manager::Manager manager({}, tasks, recorder, now());
    LongList list;
    ManagerLoopParts parts{manager, list, recorder};
    parts.each_turn = [&](Instant) -> std::optional<Instant> {
        if (list.ended()) manager.stop(engine::model::StopReason::interrupted, Duration{0}, now());
        return std::nullopt;
    };
    const Instant begun = instant_now();
    EXPECT_TRUE(ManagerLoop(std::move(parts)).run());
    EXPECT_GE(instant_now() - begun, (LongList::pieces - 1) * 15 * LongList::each);
}

}  // namespace
}  // namespace wq::manager::run
