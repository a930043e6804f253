#include "net/frames/loopback.h"

#include <gmock/gmock.h>

#include <numeric>

namespace wq::net::frames {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

const PeerId kManager(0);
const PeerId kWorker(1);

std::vector<std::string> told(const std::vector<Arrival>& arrivals) {
    std::vector<std::string> lines;
    for (const Arrival& arrival : arrivals) {
        if (const auto* joined = std::get_if<Joined>(&arrival)) {
            lines.push_back("joined " + std::to_string(joined->peer.value()));
        } else if (const auto* frame = std::get_if<Frame>(&arrival)) {
            lines.push_back(frame->bytes);
        } else {
            lines.push_back("left " + std::to_string(std::get<Left>(arrival).peer.value()));
        }
    }
    return lines;
}

std::vector<std::string> receive(Transport& transport) {
    std::vector<Arrival> inbox;
    transport.poll(inbox);
    return told(inbox);
}

struct Pair {
    explicit Pair(LoopbackFaults faults = {}, std::uint64_t seed = 1) : network(2, seed, faults) {
        manager = network.endpoint(kManager);
        worker = network.endpoint(kWorker);
        network.connect(kManager, kWorker);
    }
    LoopbackNetwork network;
    std::unique_ptr<Transport> manager;
    std::unique_ptr<Transport> worker;
};

TEST(Loopback, CleanCarriesFramesInOrderBothWays) {
    Pair pair;
    pair.manager->send(kWorker, "a");
    pair.manager->send(kWorker, "b");
    pair.worker->send(kManager, "c");
    EXPECT_THAT(receive(*pair.worker), ElementsAre("joined 0", "a", "b"));
    EXPECT_THAT(receive(*pair.manager), ElementsAre("joined 1", "c"));
    EXPECT_THAT(receive(*pair.manager), IsEmpty());
}

TEST(Loopback, PollSaysWhetherAnythingMoved) {
    Pair pair;
    std::vector<Arrival> inbox;
    EXPECT_TRUE(pair.worker->poll(inbox));
    EXPECT_FALSE(pair.worker->poll(inbox));
}

TEST(Loopback, ACutIsLeftOnBothEndsAndNothingFollows) {
    Pair pair;
    pair.network.cut(kManager, kWorker, "gone");
    pair.manager->send(kWorker, "late");
    EXPECT_THAT(receive(*pair.worker), ElementsAre("joined 0", "left 0"));
    EXPECT_THAT(receive(*pair.manager), ElementsAre("joined 1", "left 1"));
    EXPECT_FALSE(pair.network.connect(kManager, kWorker));
}

TEST(Loopback, CloseIsSilentHereAndLeftThereAfterWhatWasSent) {
    Pair pair;
    pair.worker->send(kManager, "never read");
    pair.manager->send(kWorker, "last words");
    pair.manager->close(kWorker);
    EXPECT_THAT(receive(*pair.manager), IsEmpty());
    EXPECT_THAT(receive(*pair.worker), ElementsAre("joined 0", "last words", "left 0"));
}

TEST(Loopback, ASilencedPeerVanishesWithoutALeft) {
    Pair pair;
    receive(*pair.manager);
    pair.network.silence(kWorker);
    pair.manager->send(kWorker, "into the void");
    pair.worker->send(kManager, "from the void");
    EXPECT_THAT(receive(*pair.manager), IsEmpty());
    EXPECT_THAT(receive(*pair.worker), IsEmpty());
    EXPECT_EQ(pair.network.counts().lost, 2u);
}

TEST(Loopback, ACrashIsLeftForAllOthers) {
    LoopbackNetwork network(3);
    auto manager = network.endpoint(kManager);
    auto other = network.endpoint(PeerId(2));
    network.connect(kManager, kWorker);
    network.connect(PeerId(2), kWorker);
    network.crash(kWorker, "power");
    EXPECT_THAT(receive(*manager), ElementsAre("joined 1", "left 1"));
    EXPECT_THAT(receive(*other), ElementsAre("joined 1", "left 1"));
    EXPECT_THAT(receive(*network.endpoint(kWorker)), IsEmpty());
}

TEST(Loopback, WhoComesBackIsANewPeer) {
    Pair pair;
    pair.network.crash(kWorker, "power");
    receive(*pair.manager);
    const PeerId again = pair.network.add();
    EXPECT_EQ(again.value(), 2u);
    EXPECT_TRUE(pair.network.connect(kManager, again));
    EXPECT_THAT(receive(*pair.manager), ElementsAre("joined 2"));
}

TEST(Loopback, DelayWaitsForTheHandMovedClockAndKeepsTheOrder) {
    Pair pair({.delay = 1, .most_delay = 10ms});
    receive(*pair.worker);
    for (int i = 0; i < 20; ++i) pair.manager->send(kWorker, std::string(1, static_cast<char>('a' + i)));
    std::string seen;
    while (const auto next = pair.network.next_arrival()) {
        if (*next > pair.network.now()) pair.network.advance(*next - pair.network.now());
        for (const std::string& text : receive(*pair.worker)) seen += text;
        receive(*pair.manager);
    }
    EXPECT_EQ(seen, "abcdefghijklmnopqrst");
    EXPECT_GT(pair.network.now(), Instant{});
}

TEST(Loopback, DuplicatesArriveTwiceInARow) {
    Pair pair({.duplicate = 1});
    pair.manager->send(kWorker, "x");
    pair.manager->send(kWorker, "y");
    EXPECT_THAT(receive(*pair.worker), ElementsAre("joined 0", "x", "x", "y", "y"));
}

TEST(Loopback, ReordersOnlyWhenAsked) {
    Pair pair({.reorder = 1});
    for (const char* text : {"a", "b", "c"}) pair.manager->send(kWorker, text);
    EXPECT_THAT(receive(*pair.worker), ElementsAre("joined 0", "b", "c", "a"));
    EXPECT_EQ(pair.network.counts().reordered, 2u);
}

std::vector<std::string> stormy_run(std::uint64_t seed) {
    LoopbackNetwork network(
        5, seed, {.cut = 0.002, .duplicate = 0.1, .delay = 0.3, .reorder = 0.05, .most_delay = 5ms});
    std::vector<std::unique_ptr<Transport>> ends;
    for (std::uint32_t i = 0; i < 5; ++i) ends.push_back(network.endpoint(PeerId(i)));
    for (std::uint32_t i = 1; i < 5; ++i) network.connect(kManager, PeerId(i));
    std::vector<std::string> log;
    for (int step = 0; step < 500; ++step) {
        ends[0]->send(PeerId(1 + static_cast<std::uint32_t>(step) % 4), "down " + std::to_string(step));
        ends[1 + static_cast<std::size_t>(step) % 4]->send(kManager, "up " + std::to_string(step));
        network.advance(1ms);
        for (std::size_t end = 0; end < ends.size(); ++end) {
            for (std::string& text : receive(*ends[end])) log.push_back(std::to_string(end) + ": " + text);
        }
    }
    return log;
}

TEST(Loopback, EqualSeedsGiveEqualRuns) {
    EXPECT_EQ(stormy_run(42), stormy_run(42));
    EXPECT_NE(stormy_run(42), stormy_run(43));
}

TEST(Loopback, NothingFollowsLeftAndEveryLeftHasItsJoined) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::map<std::string, int> state;  // "end: peer" -> 1 joined, 2 left
        for (const std::string& line : stormy_run(seed)) {
            const bool joined = line.find("joined") != std::string::npos;
            const bool left = line.find("left") != std::string::npos;
            if (!joined && !left) continue;
            int& now = state[line.substr(0, 3) + line.substr(line.rfind(' '))];
            ASSERT_EQ(now, joined ? 0 : 1) << line << " with seed " << seed;
            now = joined ? 1 : 2;
        }
    }
}

TEST(Loopback, WithoutReorderingAConnectionDeliversAnUnbrokenPrefix) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Pair pair({.cut = 0.01, .duplicate = 0.2, .delay = 0.5, .most_delay = 3ms}, seed);
        for (int i = 0; i < 200; ++i) pair.manager->send(kWorker, std::to_string(i));
        pair.network.advance(1s);
        int expected = 0;
        for (const std::string& text : receive(*pair.worker)) {
            if (text == "joined 0" || text == "left 0") continue;
            const int number = std::stoi(text);
            ASSERT_TRUE(number == expected || number == expected - 1) << "seed " << seed;
            expected = number + 1;
        }
        const LoopbackCounts& counts = pair.network.counts();
        EXPECT_EQ(counts.sent + counts.duplicates, counts.delivered + counts.lost);
    }
}

}  // namespace
}  // namespace wq::net::frames
