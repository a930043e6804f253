#include "net/messages/messages.h"

#include <gtest/gtest.h>

#include <random>

namespace wq::net::messages {
namespace {

std::vector<Message> samples() {
    engine::model::Outcome outcome;
    outcome.ending = engine::model::Ending::timed_out;
    outcome.exit_code = -1;
    outcome.signal = 9;
    outcome.started_us = 1'700'000'000'000'000;
    outcome.wall_us = 12;
    outcome.peak_memory_kb = 1 << 30;
    outcome.stdout_bytes = ~std::uint64_t{0};
    outcome.reason = "one\nline";
    outcome.measured.emplace().usage.memory = 812;
    outcome.measured->exceeded.memory_mb = 800;
    outcome.measured->disk_wait = 250;
    outcome.files = {1'699'999'999'000'000, 1'700'000'001'000'000};
    IntervalSet held;
    held.insert({3, 9});
    held.insert({1'000'000, 1'000'001});
    Hello hello;
    hello.rank = 7;
    hello.host = "node3";
    hello.offers = {64, 1 << 20, 5, 2, 3};
    hello.leaves_in = std::chrono::hours(3);
    hello.process_age = std::chrono::minutes(5);
    hello.job_age = std::chrono::hours(1);
    hello.allocated_cores = 96;
    hello.clock = 1'700'000'000'000'000;
    hello.takes_tickets = true;
    hello.remark = "bound to 1 of 64 cores";
    hello.features = {"gpu", ""};
    hello.os = "Linux";
    hello.arch = "x86_64";
    hello.node = "boot.0";
    hello.identity = "0123456789abcdef";
    hello.resume = "token";
    hello.answers_sent = 12;
    hello.holding = {{TaskId(4), 1}, {TaskId(1), 3}};
    SealedBatch sealed;
    sealed.batch = BatchId(9);
    sealed.tasks = held;
    sealed.needs = {1, -1, 0, -1};
    sealed.timeout = std::chrono::seconds(3);
    sealed.watch.limits.memory_mb = 5;
    sealed.command = {"echo", "{}"};
    sealed.indexes = "1-9:2";
    sealed.first_item = TaskId(77);
    sealed.call = Call{"f", "", engine::model::CallMode::direct, "coprocess"};
    sealed.first_index = -5;
    sealed.by_counter = true;
    sealed.nodes = 3;
    LeaseFiles files;
    files.inputs = {{"in", InputKind::content, "", "key", std::nullopt},
                    {"small", InputKind::content, "", "", "abc"},
                    {"page", InputKind::url, "http://host/page", "", std::nullopt}};
    files.outputs = {{"out", false, true, true}};
    const engine::model::Watch watch{true, {.cores = 500, .memory_mb = 77}};
    const Lease lease{TaskId(9),    3,    {2, 100, 0, 1}, std::chrono::seconds(5),
                      watch,        2,    "echo hi",      {{"A", "1"}, {"B", ""}, {"C", {}}},
                      std::nullopt, files};
    return {
        hello,
        Refused{3, "no"},
        Welcome{protocol_version, WorkerId(9), "token", std::chrono::seconds(60), 12, "/home", "INDEX",
                "/mark", "1234", 4096, "/proc/1/fd/2", "5678"},
        Ended{TaskId(5), 2, outcome, {std::string("a\0b", 3), "err", "r"}},
        GivenBack{TaskId(1), 1},
        RangeEnded{BatchId(4), held, 5, 6},
        Draining{},
        Account{BatchId(4), held, true},
        WantTickets{BatchId(4)},
        WantTexts{BatchId(4), 100, 20},
        Goodbye{"drained", true},
        EnvironmentReport{3, 127, "hello"},
        Acknowledged{44},
        EnvironmentLine{3, "cd /tmp"},
        lease,
        Kill{TaskId(3), 2},
        KillAll{},
        Recall{17},
        sealed,
        Tickets{BatchId(9), 12, 2, true, {"a", ""}},
        RevokedBatch{BatchId(9)},
        Dismiss{"the run is over", true, true},
        Beat{},
        WantInput{TaskId(9), 3, 1, 1 << 20, 4, true},
        InputPart{TaskId(9), 3, 1, 4, "bytes", true},
        NoInput{TaskId(9), 3, 1, "gone"},
        OutputPart{TaskId(9), 3, 2, "bytes", true},
        TakeOutput{TaskId(9), 3, 1 << 20},
        OutputsSent{TaskId(9), 3},
        OutputsKept{TaskId(9), 3, "disk full"},
        WatchedPart{TaskId(9), 3, 1, 4096, "more"},
        WatchedTaken{TaskId(9), 3},
        HaveInput{TaskId(9), 3, 2, "/tmp/cache"},
        InputIsAt{TaskId(9), 3, 2, "/tmp/cache/key"},
        SharesFiles{},
        StatusQuery{protocol_version, StatusOf::tasks, 7},
        StatusReport{protocol_version,
                     {{"sims", {2, 100, -1, -1}, {engine::model::Rest::proportional, false}, {"big"}, 7, 3}},
                     9,
                     {{WorkerId(4), "node4", {8, 16000, 5, 1}, 2, "77_1", "mine", false, false}},
                     1,
                     100,
                     80,
                     5,
                     640,
                     true,
                     2,
                     1'000'000,
                     5000},
        SharesMemory{},
        Keeps{3},
        LastWords{protocol_version, "identity", "token", true},
        StatusPart{R"({"taskid":1})", 8},
    };
}

std::string all_in_one_frame() {
    ByteWriter out;
    for (const Message& message : samples()) encode(message, out);
    return out.take();
}

TEST(Messages, EveryKindIsSampledInItsPlace) {
    const std::vector<Message> all = samples();
    ASSERT_EQ(all.size(), std::variant_size_v<Message>);
    for (std::size_t kind = 0; kind < all.size(); ++kind) EXPECT_EQ(all[kind].index(), kind);
}

TEST(Messages, ComeBackAsTheyWereSent) {
    const auto read = decode(all_in_one_frame());
    ASSERT_TRUE(read.has_value());
    ASSERT_EQ(read->size(), samples().size());
    for (std::size_t index = 0; index < read->size(); ++index)
        EXPECT_EQ(encode((*read)[index]), encode(samples()[index])) << "kind " << index;
}

TEST(Messages, FieldsSurvive) {
    const auto read = decode(all_in_one_frame());
    ASSERT_TRUE(read.has_value());
    const auto& hello = std::get<Hello>(read->at(0));
    EXPECT_EQ(hello.offers, (engine::model::Resources{64, 1 << 20, 5, 2, 3}));
    EXPECT_EQ(hello.leaves_in, std::chrono::hours(3));
    EXPECT_EQ(hello.process_age, std::chrono::minutes(5));
    EXPECT_EQ(hello.job_age, std::chrono::hours(1));
    EXPECT_EQ(hello.allocated_cores, 96);
    EXPECT_EQ(hello.clock, 1'700'000'000'000'000);
    EXPECT_EQ(hello.holding.at(1), (std::pair<TaskId, Attempt>(1, 3)));
    const auto& ended = std::get<Ended>(read->at(3));
    EXPECT_EQ(ended.outcome.signal, 9);
    EXPECT_EQ(ended.outcome.measured, std::get<Ended>(samples().at(3)).outcome.measured);
    EXPECT_EQ(ended.outcome.files, std::get<Ended>(samples().at(3)).outcome.files);
    EXPECT_EQ(ended.outcome.stdout_bytes, ~std::uint64_t{0});
    EXPECT_EQ(ended.output.out, std::string("a\0b", 3));
    EXPECT_EQ(std::get<Lease>(read->at(14)).watch, std::get<Lease>(samples().at(14)).watch);
    EXPECT_EQ(std::get<Lease>(read->at(14)).files, std::get<Lease>(samples().at(14)).files);
    const auto& report = std::get<StatusReport>(read->at(36));
    EXPECT_EQ(report.shapes, std::get<StatusReport>(samples().at(36)).shapes);
    EXPECT_EQ(report.workers, std::get<StatusReport>(samples().at(36)).workers);
    EXPECT_EQ(report.capacity_tasks, 640);
    const auto& sealed = std::get<SealedBatch>(read->at(18));
    EXPECT_EQ(sealed.first_index, -5);
    EXPECT_EQ(sealed.call->mode, engine::model::CallMode::direct);
}

// The message counts, whoever measured them.
TEST(Messages, AmountsThatNothingTakesAreHeldToTheirBounds) {
    for (const std::int64_t said : {INT64_MIN, std::int64_t{-7}, engine::model::most_size + 1, INT64_MAX}) {
        Ended ended;
        engine::model::Usage& usage = ended.outcome.measured.emplace().usage;
#define WQ_SAY(name, unit, meaning) usage.name = said;
        WQ_USAGE(WQ_SAY)
#undef WQ_SAY
        ended.outcome.measured->disk_wait = said;
        ended.output.monitor.emplace().points.push_back({said, "", {}});
        const auto read = decode(encode(ended));
        ASSERT_TRUE(read.has_value()) << said;
        const std::int64_t at_us = std::get<Ended>(read->at(0)).output.monitor->points.at(0).at_us;
        EXPECT_EQ(at_us, said < 0 ? 0 : std::min(said, engine::model::most_measured));
        EXPECT_EQ(std::get<Ended>(read->at(0)).outcome.measured->disk_wait, said < 0 ? -1 : 1000);
        const engine::model::Usage& heard = std::get<Ended>(read->at(0)).outcome.measured->usage;
#define WQ_HEARD(name, unit, meaning)                    \
    EXPECT_LE(heard.name, engine::model::most_measured); \
    EXPECT_EQ(heard.name < 0, said < 0);                 \
    EXPECT_GE(heard.name, engine::model::unsaid);
        WQ_USAGE(WQ_HEARD)
#undef WQ_HEARD
        for (const std::int64_t size :
             {heard.cores, heard.memory, heard.virtual_memory, heard.swap_memory, heard.disk})
            EXPECT_EQ(size, said < 0 ? engine::model::unsaid : engine::model::most_size);
    }
}

TEST(Messages, LimitsThatNoneIsGivenAreRefused) {
    Ended ended;
    ended.outcome.measured.emplace().exceeded.memory_mb = engine::model::most_size;
    EXPECT_TRUE(decode(encode(ended)).has_value());
    ended.outcome.measured->exceeded.memory_mb = engine::model::most_size + 1;
    EXPECT_FALSE(decode(encode(ended)).has_value());
    ended.outcome.measured->exceeded.memory_mb = -2;
    EXPECT_FALSE(decode(encode(ended)).has_value());
}

TEST(Messages, AreMsgpack) {  // so that other programs can read them: [kind, most]
    EXPECT_EQ(encode(Recall{17}), std::string("\x92\x11\x11", 3));
}

TEST(Messages, EveryTruncationIsRefused) {
    for (const Message& message : samples()) {
        const std::string whole = encode(message);
        for (std::size_t size = 1; size < whole.size(); ++size)
            EXPECT_FALSE(decode(whole.substr(0, size)).has_value())
                << "kind " << message.index() << " cut at " << size;
    }
}

TEST(Messages, OfAHelloOfAnotherVersionTheVersionIsRead) {
    // [0, 99, "later fields"]
    const auto read = decode(std::string("\x93\x00\x63\xc4\x01x", 6));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(std::get<Hello>(read->at(0)).version, 99u);
}

TEST(Messages, AnnouncedSizesAreNotBelieved) {
    EXPECT_FALSE(decode(std::string("\xdd\xff\xff\xff\xff", 5)).has_value());          // 2^32 - 1 elements
    EXPECT_FALSE(decode(std::string("\x92\x0a\xc6\xff\xff\xff\xff", 7)).has_value());  // as many bytes
    EXPECT_FALSE(decode(std::string(100'000, '\x91')).has_value());                    // arrays in arrays
}

TEST(Messages, RandomBytesAreReadOrRefused) {
    std::mt19937_64 random(1);
    int read = 0;
    for (int round = 0; round < 200'000; ++round) {
        // Half of them begin like a message.
        std::string bytes(1 + random() % 12, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random() % (round % 2 == 0 ? 256 : 24));
        if (round % 2 == 1) bytes[0] = static_cast<char>(0x90 + bytes.size() - 1);
        const auto messages = decode(bytes);
        if (!messages) continue;
        for (const Message& message : *messages) {
            ++read;
            EXPECT_TRUE(decode(encode(message)).has_value());
        }
    }
    EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace wq::net::messages
