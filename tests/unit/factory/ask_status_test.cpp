// What a program hears of managers that answer, refuse, say nonsense or nothing.
#include "factory/found_managers.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "net/frames/tcp_listener.h"

namespace wq::factory {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Gives this answer to each frame, after which it closes the connection. No answer: it is silent.
class FakeManager {
  public:
    explicit FakeManager(std::string answer, std::string key = "key") : answer_(std::move(answer)) {
        net::frames::TcpListenOptions options;
        options.bind = {"127.0.0.1"};
        options.key = std::move(key);
        line_ = net::frames::TcpListener::open(options).or_throw();
        thread_ = std::thread([this] { serve(); });
    }
    ~FakeManager() {
        over_ = true;
        thread_.join();
    }
    net::frames::TcpDialOptions dial() const {
        net::frames::TcpDialOptions dial;
        dial.managers = {{"127.0.0.1", line_->port()}};
        dial.key = "key";
        return dial;
    }
    std::string asked() const { return asked_; }  // after the answer

  private:
    void serve() {
        while (!over_) {
            pollfd ready{line_->descriptors().front(), POLLIN, 0};
            ::poll(&ready, 1, 20);
            std::vector<net::frames::Arrival> inbox;
            line_->poll(inbox);
            for (const net::frames::Arrival& arrival : inbox) {
                const auto* frame = std::get_if<net::frames::Frame>(&arrival);
                if (frame == nullptr || answer_.empty()) continue;
                asked_ = frame->bytes;
                line_->send(frame->peer, answer_);
                line_->close(frame->peer);
            }
        }
    }

    std::string answer_;
    std::string asked_;
    std::unique_ptr<net::frames::TcpListener> line_;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

Error error_of(const FakeManager& manager, Duration limit = 20s) {
    auto answers = ask_status({manager.dial()}, limit);
    return answers.at(0) ? Error{ExitCode::ok, "it answered"} : answers.at(0).error();
}

net::messages::StatusReport report(std::uint64_t ready) {
    net::messages::StatusReport report;
    report.shapes.push_back({"default", {}, {}, {}, ready, 0});
    return report;
}

TEST(AskStatus, AllAtOnceInTheirOrder) {
    const FakeManager first(net::messages::encode(report(7)));
    const FakeManager other_key(net::messages::encode(report(8)), "another key");
    const FakeManager last(net::messages::encode(report(9)));
    auto answers = ask_status({first.dial(), other_key.dial(), last.dial()}, 20s);
    ASSERT_EQ(answers.size(), 3u);
    ASSERT_TRUE(answers[0] && answers[2]);
    EXPECT_EQ(answers[0]->shapes.at(0).ready, 7u);
    EXPECT_EQ(answers[2]->shapes.at(0).ready, 9u);
    ASSERT_FALSE(answers[1]);
    EXPECT_EQ(answers[1].error().code, ExitCode::not_allowed);
    const auto asked = net::messages::decode(first.asked());
    ASSERT_TRUE(asked && asked->size() == 1u);
    EXPECT_TRUE(std::holds_alternative<net::messages::StatusQuery>(asked->front()));
}

TEST(AskStatus, NonsenseIsAnError) {
    EXPECT_THAT(error_of(FakeManager("garbage")).message, HasSubstr("cannot be read"));
    EXPECT_THAT(
        error_of(FakeManager(net::messages::encode(net::messages::Refused{3, "you speak protocol 7"})))
            .message,
        HasSubstr("you speak protocol 7"));
    net::messages::StatusReport old;
    old.version = 6;
    EXPECT_THAT(error_of(FakeManager(net::messages::encode(old))).message, HasSubstr("it speaks protocol 6"));
    EXPECT_EQ(error_of(FakeManager(net::messages::encode(net::messages::Beat{}))).code,
              ExitCode::unreachable);
    EXPECT_EQ(error_of(FakeManager(std::string(std::size_t{65} << 20, 'x'))).code, ExitCode::not_allowed)
        << "too long";
}

TEST(AskStatus, FiguresCanBeAddedUp) {
    net::messages::StatusReport huge = report(~std::uint64_t{0});
    huge.capacity_tasks = INT64_MAX;
    const FakeManager manager(net::messages::encode(huge));
    auto answers = ask_status({manager.dial()}, 20s);
    ASSERT_TRUE(answers.at(0));
    EXPECT_EQ(answers[0]->shapes.at(0).ready, std::uint64_t{1} << 40);
    EXPECT_EQ(answers[0]->capacity_tasks, std::int64_t{1} << 40);
}

TEST(AskStatus, SilenceEnds) {
    const FakeManager silent("");
    const Error error = error_of(silent, 100ms);
    EXPECT_EQ(error.code, ExitCode::unreachable);
    EXPECT_THAT(error.message, HasSubstr("did not answer within 0.10s"));
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    const auto answers = ask_status({silent.dial()}, 3600s, ends[0]);
    EXPECT_THAT(answers.at(0).error().message, HasSubstr("stopped before it answered"));
    ::close(ends[0]), ::close(ends[1]);
}

}  // namespace
}  // namespace wq::factory
