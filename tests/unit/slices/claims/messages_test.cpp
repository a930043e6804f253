#include "slices/claims/messages.h"

#include <gtest/gtest.h>

#include <random>

namespace wq::slices::claims {
namespace {

IntervalSet some() {
    IntervalSet positions;
    for (const Interval& range :
         {Interval{3, 5}, Interval{8, 9}, Interval{1'000'000'000'000, 1'000'000'000'007}})
        positions.insert(range);
    return positions;
}

TEST(FeedMessages, ArriveAsTheyWere) {
    const auto back = [](const Message& message) {
        const auto read = decode(encode(message));
        EXPECT_TRUE(read);
        EXPECT_EQ(read->index(), message.index());
        return *read;
    };
    const auto hello = std::get<Hello>(back(Hello{"n 1", 7, true}));
    EXPECT_EQ(hello.node, "n 1");
    EXPECT_EQ(hello.rank, 7U);
    EXPECT_TRUE(hello.draws);
    EXPECT_EQ(std::get<CounterRange>(back(CounterRange{{4, 9}})).positions, (Interval{4, 9}));
    EXPECT_EQ(std::get<SealReply>(back(SealReply{8})).batch, 8U);
    EXPECT_EQ(std::get<SealClosed>(back(SealClosed{9})).batch, 9U);
    const auto sealed = std::get<SealOpened>(back(SealOpened{6, {3, 1'000'000'000'000}, 70, 80}));
    EXPECT_EQ(sealed.batch, 6U);
    EXPECT_EQ(sealed.positions, (Interval{3, 1'000'000'000'000}));
    EXPECT_EQ(sealed.epoch, 70U);
    EXPECT_EQ(sealed.takers, 80U);
    const auto done = std::get<RefillDone>(back(RefillDone{true, {4, 9}}));
    EXPECT_TRUE(done.gives_back);
    EXPECT_EQ(done.positions, (Interval{4, 9}));
    IntervalSet failed;
    failed.insert(8);
    const std::vector<Timed> times{{3, 1'700'000'000'000'000, 1'700'000'000'000'007, false}, {8, 5, 4, true}};
    const auto committed = std::get<Committed>(back(Committed{9, some(), failed, times}));
    EXPECT_EQ(committed.failed, failed);
    EXPECT_EQ(committed.times, times);
    EXPECT_EQ(committed.taken, 9U);
    EXPECT_EQ(committed.positions, some());
    const auto reply = std::get<CensusReply>(back(CensusReply{7, some()}));
    EXPECT_EQ(reply.batch, 7U);
    EXPECT_EQ(reply.positions, some());
    EXPECT_EQ(std::get<Granted>(back(Granted{{1, 2}})).positions, (Interval{1, 2}));
    EXPECT_TRUE(std::get<Ended>(back(Ended{true})).lost_some);
    const auto welcome = std::get<Welcome>(back(Welcome{5, 6, false, true}));
    EXPECT_EQ(welcome.batch, 5U);
    EXPECT_EQ(welcome.rank, 6U);
    EXPECT_FALSE(welcome.commits);
    EXPECT_TRUE(welcome.times);
    const auto question = std::get<Question>(back(Question{7, "what"}));
    EXPECT_EQ(question.number, 7U);
    EXPECT_EQ(question.what, "what");
    EXPECT_FALSE(is_answer(encode(question)));
    const auto answer = std::get<GiverAnswer>(back(GiverAnswer{7, "that"}));
    EXPECT_EQ(answer.number, 7U);
    EXPECT_EQ(answer.what, "that");
    EXPECT_TRUE(is_answer(encode(answer)));
    EXPECT_EQ(std::get<Refused>(back(Refused{"why"})).why, "why");
    EXPECT_EQ(std::get<Census>(back(Census{9})).batch, 9U);
    EXPECT_EQ(std::get<ReportCommits>(back(ReportCommits{3})).round, 3U);
    EXPECT_EQ(std::get<CommitsReported>(back(CommitsReported{4})).round, 4U);
    for (const Message& empty :
         {Message(Refill{}), Message(Leaving{}), Message(NodeRefilled{}), Message(NoneLeft{})})
        back(empty);
}

// Its other fields may be others; so that it can be refused in words.
TEST(FeedMessages, OfAHelloOfAnotherVersionTheVersionIsRead) {
    Hello hello{"node", 1, true};
    hello.version = feed_version + 1;
    const auto message = decode(encode(hello) + "more");
    ASSERT_TRUE(message);
    EXPECT_EQ(std::get<Hello>(*message).version, feed_version + 1);
}

TEST(FeedMessages, WhatIsCutOrGarbledIsNoMessage) {
    for (const Message& message :
         {Message(Hello{"node", 1, true}), Message(RefillDone{false, {4, 9}}),
          Message(Committed{9, some(), some(), {{3, 4, 5, true}}}), Message(CensusReply{7, some()}),
          Message(Granted{{1, 2}}), Message(Census{300}), Message(SealOpened{300, {4, 9}, 5, 6}),
          Message(CounterRange{{4, 9}}), Message(Welcome{5, 6, false, true}), Message(Question{7, "what"}),
          Message(GiverAnswer{7, "that"}), Message(Refused{"why"})}) {
        const std::string bytes = encode(message);
        for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(bytes.substr(0, size)));
        EXPECT_FALSE(decode(bytes + "x"));
    }
    EXPECT_FALSE(decode(encode(Granted{{2, 2}})));
    std::mt19937_64 random(1);
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes(random() % 40, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        const auto message = decode(bytes);
        EXPECT_TRUE(!message || decode(encode(*message)));
    }
}

}  // namespace
}  // namespace wq::slices::claims
