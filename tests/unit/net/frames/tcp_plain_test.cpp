// Those who ask a manager's port in plain text, beside workers.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "net/frames/tls_channel.h"
#include "net/frames/tls_identity.h"
#include "tcp_ends.h"

namespace wq::net::frames {
namespace {

using namespace test;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TcpListenOptions open_to_all() {
    TcpListenOptions options = on_loopback();
    options.plain_refusal.clear();
    return options;
}

// Answers each question by `parts`, one after the other as they are taken.
class Answers {
  public:
    explicit Answers(Manager& manager, std::vector<std::string> parts = {"[1", ",2", "]"})
        : manager_(manager), parts_(std::move(parts)) {}

    // Until `over`.
    bool serve(const std::function<bool()>& over) {
        return manager_.await([&] {
            for (; seen_ < manager_.arrivals.size(); ++seen_) on(manager_.arrivals[seen_]);
            return over();
        });
    }
    std::vector<std::string> questions;

  private:
    void on(const Arrival& arrival) {
        if (const auto* joined = std::get_if<Joined>(&arrival)) {
            if (joined->asks_plainly) told_[joined->peer] = 0;
            return;
        }
        const auto* frame = std::get_if<Frame>(&arrival);
        const auto known = frame == nullptr ? told_.end() : told_.find(frame->peer);
        if (known == told_.end()) return;
        if (!frame->bytes.empty()) questions.push_back(frame->bytes);
        manager_->send(frame->peer, parts_[known->second]);
        if (++known->second == parts_.size()) manager_->close(frame->peer);
    }

    Manager& manager_;
    std::vector<std::string> parts_;
    std::map<PeerId, std::size_t> told_;
    std::size_t seen_ = 0;
};

// What a stranger hears who says this, in pieces.
std::string ask(Manager& manager, Answers& answers, const std::vector<std::string>& pieces,
                bool half_close = false) {
    Raw raw = Raw::to(manager->port());
    std::string heard;
    std::atomic<bool> over{false};
    std::thread asker([&] {
        for (const std::string& piece : pieces) raw.say(piece);
        if (half_close) ::shutdown(raw.get(), SHUT_WR);
        heard = raw.hear_all();
        over = true;
    });
    EXPECT_TRUE(answers.serve([&] { return over.load(); }));
    asker.join();
    return heard;
}

TEST(TcpPlain, AQuestionIsAnsweredInBytesAndTheLinkEnds) {
    Manager manager = listen(open_to_all());
    Answers answers(manager);
    EXPECT_EQ(ask(manager, answers, {"task_status\n"}), "[1,2]");
    EXPECT_EQ(ask(manager, answers, {"q", "ueue_", "status", "\n"}), "[1,2]");
    EXPECT_EQ(ask(manager, answers, {"queue_status\n"}, true), "[1,2]");
    EXPECT_EQ(ask(manager, answers, {"GET /worker_status HTTP/1.1\r\nHost: local", "host\r\n\r\n"}), "[1,2]");
    EXPECT_THAT(answers.questions,
                ::testing::ElementsAre("task_status", "queue_status", "queue_status", "/worker_status"));
    EXPECT_EQ(manager->counts().asked, 4u);
    EXPECT_EQ(manager->counts().joined, 0u);
    Worker worker = dial(to_port(manager->port()));
    EXPECT_TRUE(worker.await_count<Joined>(1));
}

TEST(TcpPlain, AManagerSaysNothingToWhoSaysNothing) {
    TcpListenOptions options = open_to_all();
    options.limits.handshake = 300ms;
    Manager manager = listen(std::move(options));
    Raw silent = Raw::to(manager->port());
    Raw begun = Raw::to(manager->port());
    begun.say("task_stat");
    std::size_t refused = 0;
    EXPECT_TRUE(manager.await([&] { return (refused = manager->counts().refused) == 2; })) << refused;
    EXPECT_EQ(begun.hear_all(), "");
    EXPECT_THAT(silent.hear_all(), HasSubstr("no handshake within"));
}

TEST(TcpPlain, ByDefaultTheyAreToldWhy) {
    Manager manager = listen();
    Answers answers(manager);
    EXPECT_THAT(ask(manager, answers, {"task_status\n"}), AllOf(StartsWith("this manager"), EndsWith("\n")));
    EXPECT_THAT(ask(manager, answers, {"GET /task_status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"}),
                AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("--contact FILE")));
    EXPECT_TRUE(answers.questions.empty());
    EXPECT_EQ(manager->counts().refused, 2u);
    manager->set_plain_refusal("");
    EXPECT_EQ(ask(manager, answers, {"task_status\n"}), "[1,2]");
    manager->set_plain_refusal("no");
    EXPECT_EQ(ask(manager, answers, {"task_status\n"}), "no\n");
}

TEST(TcpPlain, ARefusalFromNowOnEndsThoseWhoAsk) {
    Manager manager = listen(open_to_all());
    Raw raw = Raw::to(manager->port());
    raw.say("task_status\n");
    ASSERT_TRUE(manager.await_count<Frame>(1));
    manager->set_plain_refusal("no");
    EXPECT_THAT(manager.why(), HasSubstr("may not ask any more"));
    EXPECT_EQ(raw.hear_all(), "");
}

TEST(TcpPlain, ByTlsItIsAnsweredWithinOnly) {
    TcpListenOptions options = open_to_all();
    options.tls = make_identity().or_throw();
    Manager manager = listen(std::move(options));
    Answers answers(manager);
    EXPECT_THAT(ask(manager, answers, {"task", "_status\n"}), HasSubstr("uses TLS"));
    EXPECT_THAT(ask(manager, answers, {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"}),
                AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("https")));
    Raw raw = Raw::to(manager->port());
    const auto channel = TlsContext::of_worker({}).or_throw()->channel({});
    std::string heard;
    std::atomic<bool> over{false};
    std::thread asker([&] {
        channel->start();
        raw.say(channel->outgoing());
        bool asked = false;
        for (std::string piece = raw.hear(); !piece.empty(); piece = raw.hear()) {
            if (!channel->take(piece, heard)) break;
            if (channel->established() && !std::exchange(asked, true)) channel->encrypt("task_status\n");
            raw.say(channel->outgoing());
        }
        over = true;
    });
    EXPECT_TRUE(answers.serve([&] { return over.load(); }));
    asker.join();
    EXPECT_EQ(heard, "[1,2]");
    TcpDialOptions dialing = to_port(manager->port());
    dialing.tls = TlsTrust{};
    Worker worker = dial(dialing);
    EXPECT_TRUE(worker.await_count<Joined>(1));
}

TEST(TcpPlain, WhoDoesNotReadIsDropped) {
    TcpListenOptions options = open_to_all();
    options.limits.handshake = 300ms;
    Manager manager = listen(std::move(options));
    Answers answers(manager, std::vector<std::string>(1000, std::string(64u << 10, 'x')));
    Raw raw = Raw::to(manager->port());
    raw.say("task_status\n");
    EXPECT_TRUE(answers.serve([&] { return !manager.all<Left>().empty(); }));
    EXPECT_THAT(manager.why(), HasSubstr("did not read its answer"));
    // What the kernel held, and no more.
    EXPECT_LT(manager.all<Frame>().size(), 900u);
    EXPECT_TRUE(manager.await([&] { return manager->idle(); }));
}

TEST(TcpPlain, WhoHangsUpLeaves) {
    Manager manager = listen(open_to_all());
    Answers answers(manager, std::vector<std::string>(1000, std::string(64u << 10, 'x')));
    {
        Raw raw = Raw::to(manager->port());
        raw.say("task_status\n");
        ASSERT_TRUE(manager.await_count<Frame>(1));
    }
    EXPECT_TRUE(answers.serve([&] { return !manager.all<Left>().empty(); }));
    EXPECT_TRUE(manager.await([&] { return manager->idle(); }));
}

TEST(TcpPlain, ManyWhoAskAndDoNotReadKeepNobodyOut) {
    Manager manager = listen(open_to_all());
    Answers answers(manager, std::vector<std::string>(1000, std::string(64u << 10, 'x')));
    std::vector<Raw> deaf;
    for (int n = 0; n < 300; ++n) {
        deaf.push_back(Raw::to(manager->port()));
        deaf.back().say("task_status\n");
    }
    EXPECT_TRUE(answers.serve([&] { return manager->counts().asked == 300; }));
    EXPECT_TRUE(answers.serve([&] { return manager.all<Left>().size() >= 300 - 128; }));
    Raw worker = Raw::to(manager->port());
    std::atomic<bool> joined{false};
    std::thread joins([&] { joined = worker.join(); });
    EXPECT_TRUE(answers.serve([&] { return manager->counts().joined == 1; }));
    joins.join();
    EXPECT_TRUE(joined);
}

}  // namespace
}  // namespace wq::net::frames
