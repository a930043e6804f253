// When the tasks of a worker that is gone go to others.
#include "unit/manager/sessions_fixture.h"

namespace wq::manager {
namespace {

using ::testing::HasSubstr;

// A worker with a lease, whose connection nothing relays.
struct Direct {
    net::messages::LastWords words;
    net::frames::PeerId peer{0};
};

class Ends : public Sessions {
  protected:
    Direct direct(Peer& worker) {
        net::messages::Hello joins = hello("direct");
        joins.address = "loopback:" + std::to_string(ids_.back().value());
        const auto answers = say(worker, {joins, net::messages::Beat{}});
        EXPECT_NE(first<net::messages::Lease>(answers), nullptr);
        return {
            {net::messages::protocol_version, "direct", first<net::messages::Welcome>(answers)->resume, true},
            ids_.back()};
    }
    std::int64_t lost() const { return manager_.stats().workers_lost; }
    // Turns as a loop makes them: it never stands still for long.
    void pass(std::chrono::seconds time) {
        for (const Instant until = now_ + time; now_ < until; now_ += std::chrono::milliseconds(500))
            turn({now_, 0});
        turn({now_, 0});
    }
    Instant now_{};
};

TEST_F(Ends, AConnectionThatIsClosedWithoutAWordIsOfAWorkerThatHasEnded) {
    Peer worker = peer();
    network_.crash(direct(worker).peer, "closed");
    pass(std::chrono::seconds(14));
    EXPECT_EQ(connected_workers(), 0);
    EXPECT_EQ(lost(), 0) << "its launcher may still end its tasks";
    pass(std::chrono::seconds(2));
    EXPECT_EQ(lost(), 1);
}

TEST_F(Ends, OneThatIsResetOrRelayedOrWhoseWorkerKeepsItsTasksIsNot) {
    for (const char* const how : {"reset", "relayed", "keeps"}) {
        SCOPED_TRACE(how);
        Peer worker = peer();
        net::messages::Hello joins = hello(how);
        if (how != std::string("relayed")) joins.address = "loopback:" + std::to_string(ids_.back().value());
        say(worker, {joins});
        if (how == std::string("keeps")) say(worker, {net::messages::Keeps{1}});
        if (how == std::string("reset"))
            network_.cut(manager_peer, ids_.back(), "reset");
        else
            worker.end->close(manager_peer);
    }
    pass(std::chrono::seconds(59));
    EXPECT_EQ(connected_workers(), 0);
    EXPECT_EQ(lost(), 0);
    pass(std::chrono::seconds(2));
    EXPECT_EQ(lost(), 3);
}

TEST_F(Ends, LastWordsGiveItsTasksToOthersAtOnce) {
    for (const bool link_is_open : {true, false}) {
        Peer worker = peer();
        const Direct known = direct(worker);
        if (!link_is_open) network_.cut(manager_peer, known.peer, "reset");
        turn();
        Peer speaker = peer();
        const auto answers = say(speaker, {known.words});
        EXPECT_NE(first<net::messages::Acknowledged>(answers), nullptr);
        EXPECT_TRUE(speaker.left) << "it needs no more";
        EXPECT_EQ(lost(), link_is_open ? 1 : 2);
        EXPECT_EQ(manager_.reactor().workers().size(), 0U);
    }
    EXPECT_THAT(said_, HasSubstr("was lost: its process was killed"));
}

TEST_F(Ends, LastWordsOfAWorkerWithAProcessThatCannotBeKilledMakeNobodyHurry) {
    Peer worker = peer();
    Direct known = direct(worker);
    known.words.all_ended = false;
    network_.crash(known.peer, "closed");
    turn();
    Peer speaker = peer();
    say(speaker, {known.words});
    pass(std::chrono::seconds(59));
    EXPECT_EQ(lost(), 0);
    pass(std::chrono::seconds(2));
    EXPECT_EQ(lost(), 1);
}

TEST_F(Ends, OnlyWhoHasTheTokenSaysLastWords) {
    Peer worker = peer();
    Direct known = direct(worker);
    known.words.resume = "guessed";
    Peer stranger = peer();
    say(stranger, {known.words});
    EXPECT_TRUE(stranger.left);
    net::messages::LastWords old = known.words;
    old.version = 1;
    expect_refused({old}, "protocol 1, the manager " + std::to_string(net::messages::protocol_version));
    EXPECT_EQ(connected_workers(), 1);
    heard(worker);
    EXPECT_FALSE(worker.left);
}

TEST_F(Ends, AnotherDisconnectLimitHoldsForLaterWorkers) {
    Peer before = peer();
    say(before, {hello("before")});
    manager_.set_disconnect_limit(std::chrono::seconds(300));
    Peer after = peer();
    EXPECT_EQ(first<net::messages::Welcome>(say(after, {hello("after")}))->grace, std::chrono::seconds(298));
    for (const net::frames::PeerId id : ids_) network_.cut(manager_peer, id, "reset");
    pass(std::chrono::seconds(61));
    EXPECT_EQ(lost(), 1);
    pass(std::chrono::seconds(240));
    EXPECT_EQ(lost(), 2);
}

}  // namespace
}  // namespace wq::manager
