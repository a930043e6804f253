// A manager that seems silent: whether it is, or its worker did not look.
#include <gmock/gmock.h>

#include "manager/run/own_worker.h"
#include "net/frames/loopback.h"
#include "support/idle_launcher.h"
#include "worker/worker_session.h"

namespace wq::worker {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Nobody answers, or who answers does not accept the worker's key.
class FailingTransport final : public net::frames::Transport {
  public:
    explicit FailingTransport(std::string why) : why_(std::move(why)) {}
    void send(net::frames::PeerId, std::string) override {}
    bool poll(std::vector<net::frames::Arrival>& inbox) override {
        inbox.push_back(net::frames::Left{net::frames::PeerId(0), why_});
        return true;
    }
    void close(net::frames::PeerId) override {}
    bool idle() const override { return true; }
    std::vector<int> descriptors() const override { return {}; }

  private:
    std::string why_;
};

class WorkerSilence : public ::testing::Test {
  protected:
    static constexpr net::frames::PeerId manager{0};

    explicit WorkerSilence(WorkerSessionOptions options = {}) {
        network_.advance(1h);
        session_.emplace(
            std::move(options), worker_,
            [this](Whom whom) -> Result<Call> {
                called_.push_back(whom);
                return call();
            },
            [this](const std::string& line) { said_.push_back(line); }, network_.now());
        turn();
        turn();
        net::messages::Welcome welcome;
        welcome.resume = "token";
        welcome.grace = 58s;
        manager_end_->send(self_, net::messages::encode(welcome));
        turn();
    }

    static WorkerOptions over_tcp() {
        WorkerOptions options;
        options.hello.identity = "one";
        return options;
    }
    Call call() {
        Call call;
        call.not_allowed = [this] { return refusing_; };
        call.others_left = [this] { return others_left_; };
        if (refusing_ || unreachable_) {
            call.transport = std::make_unique<FailingTransport>(
                refusing_ ? "the manager refused: the keys differ" : "10.0.0.1:9123: no route to host");
            return call;
        }
        if (called_.size() > 1) self_ = network_.add();  // two peers connect once
        call.transport = network_.endpoint(self_);
        call.manager = manager;
        network_.connect(manager, self_);
        call.heard = [this](Instant) { return heard_; };
        heard_ = {network_.now(), network_.now()};
        return call;
    }
    void turn(Duration after = 10ms) {
        network_.advance(after);
        session_->run_turn(network_.now());
    }

    net::frames::PeerId self_{1};
    net::frames::LoopbackNetwork network_{2};
    std::unique_ptr<net::frames::Transport> manager_end_ = network_.endpoint(manager);
    testing::IdleLauncher launcher_;
    Worker worker_{over_tcp(), launcher_};
    net::frames::Heard heard_;
    bool refusing_ = false, unreachable_ = false, others_left_ = false;
    std::vector<Whom> called_;
    std::vector<std::string> said_;
    std::optional<WorkerSession> session_;
};

TEST_F(WorkerSilence, OfTheManagerEndsTheLink) {
    heard_.as_of = network_.now() + 15s;
    turn(14s);
    EXPECT_NE(session_->link(), nullptr);
    turn(1s);
    EXPECT_THAT(said_, Contains(HasSubstr("it was silent for 15")));
}

TEST_F(WorkerSilence, OfAManagerThatRefusesItTwiceIsItsEnd) {
    refusing_ = true;
    session_->lose_link("the connection was reset", network_.now());
    turn(10s);
    turn();
    EXPECT_FALSE(session_->over()) << "a contact file may be replaced soon";
    turn(20s);
    turn();
    ASSERT_TRUE(session_->over());
    EXPECT_EQ(session_->code(), ExitCode::not_allowed);
    EXPECT_THAT(said_, Contains("the manager refused: the keys differ").Times(1));
}

TEST_F(WorkerSilence, WhileItWasStoppedItselfIsNoneOfTheManager) {
    turn(80s);  // before the thread of the sockets looked again
    EXPECT_NE(session_->link(), nullptr);
    ASSERT_TRUE(session_->wakeup());
    EXPECT_GT(*session_->wakeup(), network_.now()) << "it does not spin";
    heard_ = {network_.now() - 10s, network_.now()};
    turn();
    EXPECT_NE(session_->link(), nullptr);
    EXPECT_THAT(said_, Each(Not(HasSubstr("was silent"))));
}

class WorkerByName : public WorkerSilence {
  protected:
    WorkerByName() : WorkerSilence(by_name()) {
        session_->lose_link("the connection was reset", network_.now());
    }
    static WorkerSessionOptions by_name() {
        WorkerSessionOptions options;
        options.by_name = true;
        options.min_backoff = options.max_backoff = 1s;
        return options;
    }
};

TEST_F(WorkerByName, LooksForASuccessorAtEachSecondCallAndKeepsItsSession) {
    unreachable_ = true;
    for (int count = 0; count < 4; ++count) {
        turn(1s);  // begins the call
        turn();    // it fails
    }
    EXPECT_THAT(called_, ElementsAre(Whom::any, Whom::ours, Whom::any, Whom::ours, Whom::any));
    EXPECT_THAT(said_, Contains(HasSubstr("also looking for another one by its name")).Times(1));
    unreachable_ = false;
    turn(1s);
    turn();
    turn();
    std::vector<net::frames::Arrival> inbox;
    manager_end_->poll(inbox);
    std::vector<net::messages::Hello> hellos;
    for (const net::frames::Arrival& arrival : inbox) {
        const auto* frame = std::get_if<net::frames::Frame>(&arrival);
        const auto messages = frame != nullptr ? net::messages::decode(frame->bytes) : std::nullopt;
        if (messages && std::holds_alternative<net::messages::Hello>(messages->front()))
            hellos.push_back(std::get<net::messages::Hello>(messages->front()));
    }
    ASSERT_FALSE(hellos.empty());
    EXPECT_EQ(hellos.back().resume, "token");
}

TEST_F(WorkerByName, EndsAtTheSecondRefusalOnly) {
    refusing_ = true;
    turn(1s);
    turn();
    EXPECT_FALSE(session_->over()) << "a manager that was started again may not have registered its key yet";
    turn(1s);
    turn();
    EXPECT_TRUE(session_->over());
}

TEST_F(WorkerByName, CallsAllThatWereFoundButAtMostTenBeforeItPauses) {
    unreachable_ = others_left_ = true;
    turn(1s);
    for (int count = 0; count < 50; ++count) turn(1us);
    EXPECT_EQ(called_.size(), 1 + 10u);
    EXPECT_EQ(std::count(called_.begin(), called_.end(), Whom::next), 9);
}

class RankSilence : public ::testing::Test {
  protected:
    static constexpr net::frames::PeerId manager{0};
    static constexpr net::frames::PeerId self{1};

    void start(int rank) {
        network_.connect(manager, self);
        manager::run::RankWorkerOptions options;
        options.rank = rank;
        worker_.emplace(manager::run::rank_worker(options, manager::run::NodeShare()), *end_, manager,
                        launcher_);
        worker_->start(network_.now());
    }
    // As its loop does: it looks when the worker wants to, until `time` has passed.
    void idle(Duration time) {
        const Instant end = network_.now() + time;
        while (!worker_->ended() && *worker_->wakeup() <= end) {
            network_.advance(*worker_->wakeup() - network_.now());
            worker_->tick(network_.now());
        }
        stand_still(end - network_.now());
    }
    void stand_still(Duration time) { network_.advance(time); }
    void look() { worker_->tick(network_.now()); }

    net::frames::LoopbackNetwork network_{2};
    std::unique_ptr<net::frames::Transport> end_ = network_.endpoint(self);
    testing::IdleLauncher launcher_;
    std::optional<Worker> worker_;
};

TEST_F(RankSilence, OfTheManagerEndsAWorker) {
    start(1);
    idle(8900ms);
    EXPECT_FALSE(worker_->ended());
    worker_->on_frame(net::messages::encode(net::messages::Beat{}), network_.now());
    idle(8900ms);
    EXPECT_FALSE(worker_->ended());
    idle(100ms);
    EXPECT_TRUE(worker_->manager_lost());
}

TEST_F(RankSilence, WhileItWasStoppedItselfIsNoneOfTheManager) {
    start(1);
    idle(8s);
    stand_still(13s);
    look();
    EXPECT_FALSE(worker_->ended());
    EXPECT_GT(*worker_->wakeup(), network_.now()) << "it does not spin";
    idle(8s);
    EXPECT_FALSE(worker_->ended());
    idle(1s);
    EXPECT_TRUE(worker_->manager_lost());
}

TEST_F(RankSilence, IsNoneOfAManagerInTheSameProcess) {
    start(0);
    idle(1h);
    stand_still(13s);
    look();
    EXPECT_FALSE(worker_->ended());
}

}  // namespace
}  // namespace wq::worker
