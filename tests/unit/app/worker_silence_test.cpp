// A worker's link that seems silent: whether it is the manager who is, or the worker who did not look.
#include <gmock/gmock.h>

#include "app/worker_session.h"
#include "support/idle_launcher.h"
#include "transport/loopback.h"

namespace wq::app {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class WorkerSilence : public ::testing::Test {
  protected:
    static constexpr transport::PeerId manager{0};
    static constexpr transport::PeerId self{1};

    WorkerSilence() {
        network_.advance(1h);
        session_.emplace(
            WorkerSessionOptions{}, worker_, [this](bool) -> Result<Call> { return call(); },
            [this](const std::string& line) { said_.push_back(line); }, network_.now());
        turn();
        turn();
        wire::Welcome welcome;
        welcome.resume = "token";
        welcome.grace = 58s;
        manager_end_->send(self, wire::encode(welcome));
        turn();
    }

    static WorkerOptions over_tcp() {
        WorkerOptions options;
        options.hello.identity = "one";
        return options;
    }
    Call call() {
        Call call;
        call.transport = network_.endpoint(self);
        call.manager = manager;
        network_.connect(manager, self);
        call.heard = [this](Instant) { return heard_; };
        heard_ = {network_.now(), network_.now()};
        return call;
    }
    void turn(Duration after = 10ms) {
        network_.advance(after);
        session_->turn(network_.now());
    }

    transport::LoopbackNetwork network_{2};
    std::unique_ptr<transport::Transport> manager_end_ = network_.endpoint(manager);
    testing::IdleLauncher launcher_;
    Worker worker_{over_tcp(), launcher_};
    transport::Heard heard_;
    std::vector<std::string> said_;
    std::optional<WorkerSession> session_;
};

TEST_F(WorkerSilence, OfTheManagerEndsTheLink) {
    heard_.as_of = network_.now() + 44s;
    turn(40s);
    EXPECT_NE(session_->link(), nullptr);
    turn(4s);
    EXPECT_THAT(said_, Contains(HasSubstr("nothing was heard of it for 44")));
}

TEST_F(WorkerSilence, WhileItWasStoppedItselfIsNoneOfTheManager) {
    turn(80s);  // before the thread of the sockets looked again
    EXPECT_NE(session_->link(), nullptr);
    ASSERT_TRUE(session_->wakeup());
    EXPECT_GT(*session_->wakeup(), network_.now()) << "it does not spin";
    heard_ = {network_.now() - 10s, network_.now()};
    turn();
    EXPECT_NE(session_->link(), nullptr);
    EXPECT_THAT(said_, Each(Not(HasSubstr("nothing was heard"))));
}

}  // namespace
}  // namespace wq::app
