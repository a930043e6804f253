// Of what several workers of a node need, who is sent it.
#include "files/transfers/input_streams.h"

#include <gmock/gmock.h>

namespace wq::files::transfers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Answer = NodeContents::Answer;

constexpr WorkerId first{1}, second{2}, third{3}, stranger{9};

class NodeContentsTest : public ::testing::Test {
  protected:
    NodeContentsTest() {
        for (const WorkerId worker : {first, second, third}) contents_.joined(worker, "node");
        for (const WorkerId worker : {stranger, WorkerId(10)}) contents_.joined(worker, "another");
    }
    static NodeContents::Wish wish(WorkerId worker) { return {worker, TaskId(worker.value()), 1, 0, 1}; }
    Answer ask(WorkerId worker) { return contents_.ask(wish(worker), "key").answer; }

    NodeContents contents_;
};

TEST_F(NodeContentsTest, OneIsSentItAndTheOthersReadItThere) {
    EXPECT_EQ(ask(first), Answer::send);
    EXPECT_EQ(ask(second), Answer::wait);
    EXPECT_EQ(ask(third), Answer::wait);
    EXPECT_EQ(ask(stranger), Answer::send) << "another node's";
    EXPECT_THAT(contents_.has(first, "key", "/of/first"), ElementsAre(wish(second), wish(third)));
    const auto advice = contents_.ask(wish(second), "key");
    EXPECT_EQ(advice.answer, Answer::there);
    EXPECT_EQ(advice.folder, "/of/first");
}

TEST_F(NodeContentsTest, WhenTheOneGivesUpTheNextIsSentIt) {
    ask(first);
    ask(second);
    ask(third);
    EXPECT_THAT(contents_.gave_up(second, "key"), IsEmpty()) << "it was not to be sent it";
    EXPECT_THAT(contents_.gave_up(first, "key"), ElementsAre(wish(second), wish(third)));
    EXPECT_EQ(ask(second), Answer::send);
    EXPECT_EQ(ask(third), Answer::wait);
    EXPECT_THAT(contents_.left(second), ElementsAre(wish(third)));
    EXPECT_EQ(ask(third), Answer::send);
}

TEST_F(NodeContentsTest, WhoHasLeftHasNothing) {
    ask(first);
    contents_.has(first, "key", "/of/first");
    contents_.has(second, "key", "/of/second");
    contents_.left(first);
    EXPECT_EQ(contents_.ask(wish(third), "key").folder, "/of/second");
    contents_.left(second);
    EXPECT_EQ(ask(third), Answer::send);
}

TEST_F(NodeContentsTest, WhatWasNotFoundIsSent) {
    ask(first);
    contents_.has(first, "key", "/of/first");
    EXPECT_EQ(ask(second), Answer::there);
    contents_.missed(second, "key");
    EXPECT_EQ(ask(second), Answer::send);
    EXPECT_EQ(ask(third), Answer::wait);
    EXPECT_THAT(contents_.left(first), IsEmpty());
    EXPECT_THAT(contents_.has(second, "key", "/of/second"), ElementsAre(wish(third)));
}

// A worker whose cache lost it is not sent to itself.
TEST_F(NodeContentsTest, WhoHadItMayAskAgain) {
    ask(first);
    contents_.has(first, "key", "/of/first");
    EXPECT_EQ(ask(first), Answer::send);
}

TEST_F(NodeContentsTest, OneThatSeesNoOthersFolderSharesNoMore) {
    ask(first);
    contents_.has(first, "key", "/of/first");
    for (int miss = 0; miss < 4; ++miss) {
        contents_.missed(second, "key");
        contents_.has(first, "key", "/of/first");
    }
    EXPECT_EQ(ask(second), Answer::send) << "it is not told of that any more";
    EXPECT_EQ(ask(third), Answer::there);
}

TEST_F(NodeContentsTest, AWishIsKeptOnceAndNotOfOneThatIsCutOff) {
    ask(first);
    ask(second);
    ask(second);
    ask(third);
    contents_.cut(second);
    EXPECT_THAT(contents_.gave_up(first, "key"), ElementsAre(wish(third)));
}

TEST_F(NodeContentsTest, OfVeryManyContentsSomeAreForgotten) {
    for (int number = 0; number < 20'000; ++number) {
        const std::string key = std::to_string(number);
        contents_.ask(wish(first), key);
        contents_.has(first, key, "/of/first");
    }
    int known = 0;
    for (int number = 0; number < 20'000; ++number)
        known += contents_.ask(wish(second), std::to_string(number)).answer == Answer::there;
    EXPECT_LE(known, 10'000);
    EXPECT_GT(known, 9'000);
}

TEST_F(NodeContentsTest, WithoutANodeNothingIsShared) {
    contents_.joined(WorkerId(20), "");
    EXPECT_EQ(ask(WorkerId(20)), Answer::send);
    EXPECT_EQ(ask(WorkerId(20)), Answer::send);
    EXPECT_THAT(contents_.has(WorkerId(20), "key", "/x"), IsEmpty());
    EXPECT_EQ(ask(first), Answer::send);
}

}  // namespace
}  // namespace wq::files::transfers
