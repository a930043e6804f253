#include "wire/messages.h"

#include <gtest/gtest.h>

#include <random>

namespace wq::wire {
namespace {

std::vector<Message> samples() {
    core::Outcome outcome;
    outcome.ending = core::Ending::timed_out;
    outcome.exit_code = -1;
    outcome.signal = 9;
    outcome.started_us = 1'700'000'000'000'000;
    outcome.wall_us = 12;
    outcome.peak_memory_kb = 1 << 30;
    outcome.stdout_bytes = ~std::uint64_t{0};
    outcome.reason = "one\nline";
    IntervalSet held;
    held.insert({3, 9});
    held.insert({1'000'000, 1'000'001});
    return {
        Hello{protocol_version, 7, "node3", {64, 1 << 20, 5, 2}, 1'700'000'000'000'000, true, "bound to 1 of 64 cores"},
        Ended{TaskId(5), 2, outcome, {std::string("a\0b", 3), "err"}},
        GivenBack{TaskId(1), 1},
        Account{BatchId(4), held, true},
        WantTickets{BatchId(4)},
        WantTexts{BatchId(4), 100, 20},
        Goodbye{"drained"},
        EnvironmentReport{3, 127, "hello"},
        Welcome{},
        EnvironmentLine{3, "cd /tmp"},
        Lease{TaskId(9), 3, {2, 100, 0, 1}, std::chrono::seconds(5), 77, 2, "echo hi", {{"A", "1"}, {"B", ""}}},
        KillAll{},
        Recall{17},
        SealedBatch{BatchId(9), held, {1, -1, 0, -1}, std::chrono::seconds(3), 5, {"echo", "{}"}, "1-9:2", TaskId(77), true, 3},
        Tickets{BatchId(9), 12, 2, true, {"a", ""}},
        RevokedBatch{BatchId(9)},
        Dismiss{"the run is over", true},
        Beat{},
    };
}

TEST(Messages, EveryKindIsSampled) { EXPECT_EQ(samples().size(), std::variant_size_v<Message>); }

TEST(Messages, ComeBackAsTheyWereSent) {
    ByteWriter out;
    for (const Message& message : samples()) encode(message, out);
    ByteReader in(out.bytes());
    for (const Message& message : samples()) {
        const auto read = decode(in);
        ASSERT_TRUE(read.has_value());
        EXPECT_EQ(read->index(), message.index());
        EXPECT_EQ(encode(*read), encode(message));
    }
    EXPECT_TRUE(in.at_end());
}

TEST(Messages, FieldsSurvive) {
    ByteWriter out;
    for (const Message& message : samples()) encode(message, out);
    ByteReader in(out.bytes());
    const auto hello = std::get<Hello>(*decode(in));
    EXPECT_EQ(hello.offers, (core::Resources{64, 1 << 20, 5, 2}));
    EXPECT_EQ(hello.leaves_at, 1'700'000'000'000'000);
    const auto ended = std::get<Ended>(*decode(in));
    EXPECT_EQ(ended.outcome.signal, 9);
    EXPECT_EQ(ended.outcome.stdout_bytes, ~std::uint64_t{0});
    EXPECT_EQ(ended.output.out, std::string("a\0b", 3));
}

TEST(Messages, EveryTruncationIsRefused) {
    for (const Message& message : samples()) {
        const std::string whole = encode(message);
        for (std::size_t size = 0; size < whole.size(); ++size) {
            ByteReader in(std::string_view(whole).substr(0, size));
            EXPECT_FALSE(decode(in).has_value()) << "kind " << message.index() << " cut at " << size;
        }
    }
}

TEST(Messages, RandomBytesAreReadOrRefusedWithinTheirSize) {
    std::mt19937_64 random(1);
    int read = 0;
    for (int round = 0; round < 200'000; ++round) {
        std::string bytes(random() % 40, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random() % (round % 2 == 0 ? 256 : 16));
        ByteReader in(bytes);
        while (!in.rest().empty()) {
            const auto message = decode(in);
            if (!message) break;
            ++read;
            const std::string again = encode(*message);
            ByteReader second(again);
            EXPECT_TRUE(decode(second).has_value());
        }
    }
    EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace wq::wire
