#include "shared_list/replica/line_taker.h"

#include <gtest/gtest.h>

#include "support/memory_store.h"

namespace {

using namespace wq;
using namespace wq::shared_list::text;
using wq::shared_list::replica::LineTaker;
using wq::shared_list::replica::SharedList;
using wq::testing::MemoryMaster;
using wq::testing::MemoryStore;

class Taking : public ::testing::Test {
  protected:
    void begin(const std::string& file) {
        master.file = file;
        ASSERT_TRUE(list.open());
        const auto joined = list.join("host", std::nullopt);
        ASSERT_TRUE(joined);
        ASSERT_TRUE(store.beat(*joined, std::chrono::seconds(60)));
        taker.emplace(list, *joined);
    }
    // The command of the line that was begun; "": none.
    std::string step(bool may_begin = true) {
        const auto next = taker->step(may_begin);
        if (!next) return "error";
        return *next ? list.list().line((*next)->number).command : "";
    }
    End ended(std::uint64_t number) {
        const MarkedLine& line = list.list().line(number);
        return {number, 0, line.tries.back().begun, {}, TryEnd::ok, 0, line.command};
    }

    MemoryMaster master;
    MemoryStore store{master};
    SharedList list{store, [](const std::string&) {}};
    std::optional<LineTaker> taker;
};

TEST_F(Taking, AnEndThatComesAfterALostAnswerIsRecorded) {
    begin("a\nb\nc\n");
    EXPECT_EQ(step(), "a");
    EXPECT_EQ(step(), "b");
    const End of_b = ended(3);
    taker->add_end(ended(2));
    store.fault = MemoryStore::Fault::lost_after;
    EXPECT_EQ(step(), "error");
    taker->add_end(of_b);
    EXPECT_EQ(step(), "c");
    EXPECT_TRUE(taker->has_ends());
    EXPECT_EQ(step(), "");
    EXPECT_EQ(list.list().line(3).kind, LineKind::done);
}

TEST_F(Taking, ALineThatMovedAfterALostAnswerIsTheOneThatRuns) {
    begin("x\ny\na\nb\n");
    EXPECT_EQ(step(), "x");
    EXPECT_EQ(step(), "y");
    store.fault = MemoryStore::Fault::lost_after;
    EXPECT_EQ(step(), "error");
    std::string text = master.file;  // an editor removes the first task
    text.erase(text.find("#x"), text.find("#y") - text.find("#x"));
    master.edit(text);
    EXPECT_EQ(step(), "a");
    EXPECT_EQ(list.place(0), 3U);
}

TEST_F(Taking, WhatALostWorkerBeganWithoutLearningItWaitsAgain) {
    begin("a\nb\n");
    store.fault = MemoryStore::Fault::late;
    EXPECT_EQ(step(), "error");
    ASSERT_TRUE(list.refresh());
    ASSERT_TRUE(list.refresh());
    const auto edits = shared_list::text::release(list.list(), 0, list.stamp());
    ASSERT_EQ(edits.size(), 1U);
    EXPECT_EQ(std::get<End>(edits.front()).end, TryEnd::lost);
}

}  // namespace
