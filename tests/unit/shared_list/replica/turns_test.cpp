// Workers that others starve: tries are interrupted, and come to an end.
#include "shared_list/replica/record_log.h"

#include <gtest/gtest.h>

#include <chrono>

#include "shared_list/replica/shared_list.h"
#include "shared_list/text/choice.h"
#include "support/memory_store.h"

namespace {

using namespace wq;
using namespace wq::shared_list::text;
using namespace std::chrono_literals;
using shared_list::replica::SharedList;
using shared_list::replica::Tries;
using shared_list::replica::Turns;
using wq::testing::MemoryMaster;
using wq::testing::MemoryStore;

TEST(Turns, AreInTheOrderInWhichTheyWereAskedFor) {
    Turns turns;
    turns.made("x.1");
    EXPECT_EQ(turns.before("x"), 0U);
    for (const char* name : {"a", "b", "a", "c"}) turns.asked(name);
    EXPECT_EQ(turns.before("a"), 0U);
    EXPECT_EQ(turns.before("c"), 2U);
    EXPECT_EQ(turns.before("x"), 3U);
    turns.made("a.17");
    EXPECT_EQ(turns.before("b"), 0U);
    EXPECT_EQ(turns.first(), 1U);
    turns.made("c.1");
    EXPECT_EQ(turns.before("x"), 0U) << "b was waited for long enough";
    turns.asked("d");
    turns.made("x.2");
    EXPECT_EQ(turns.before("y"), 0U);
}

TEST(Tries, AskForATurnIfTheyAreManyAndTakeLong) {
    Instant now(1h);
    Tries tries(now);
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(tries.refused(now)) << "others are as fast";
    now += 1s;
    EXPECT_TRUE(tries.refused(now));
    for (int i = 0; i < 9; ++i) EXPECT_FALSE(tries.refused(now += 200ms));
    EXPECT_TRUE(tries.refused(now));
    EXPECT_FALSE(tries.are_vain());
}

// A store that others reach faster: each change is made before this one's.
class SlowStore : public MemoryStore {
  public:
    explicit SlowStore(MemoryMaster& master) : MemoryStore(master) {}
    Result<shared_list::store::Answer> exchange(const shared_list::store::Request& request) override {
        if (!request.empty() && faster) faster();
        return MemoryStore::exchange(request);
    }
    std::function<void()> faster;
};

class Starving : public ::testing::Test {
  protected:
    Starving() {
        for (int i = 0; i < 1000; ++i) master.file += "task" + std::to_string(i) + "\n";
        slow.between_tries([this](Duration) { return between ? between() : success(); });
        // Real time would pass; here, it is that of the other's tries.
        other.between_tries([this](Duration pause) {
            waited += pause;
            now += pause;
            return pause == Duration{0} ? success() : Status(Error{ExitCode::interrupted, "waits"});
        });
    }
    void open() {
        ASSERT_TRUE(slow.open());
        ASSERT_TRUE(slow.join("slow", std::nullopt));
        ASSERT_TRUE(other.open());
        ASSERT_TRUE(other.join("fast", std::nullopt));
        slow_store.faster = [this] {
            ++others_tries;
            now += 60ms;
            if (take(other, 1)) ++others_changes;
        };
    }
    bool take(SharedList& list, WorkerId id) {
        const auto made = list.change("lines", [&](const Document& lines) {
            std::vector<Edit> edits;
            if (const auto choice = choose(lines, id, 0))
                edits.push_back(Take{choice->number, id, list.stamp(), lines.line(choice->number).command});
            return edits;
        });
        error = made ? "" : made.error().message;
        return made && !made->empty();
    }

    MemoryMaster master;
    Instant now{1h};
    std::function<Instant()> clock = [this] { return now; };
    SlowStore slow_store{master};
    MemoryStore store{master};
    SharedList slow{slow_store, [](const std::string&) {}, clock};
    SharedList other{store, [](const std::string&) {}, clock};
    std::function<Status()> between;
    Duration waited{0};
    int others_tries = 0;
    int others_changes = 0;
    std::string error;
};

TEST_F(Starving, AWorkerWithALongWayGetsATurn) {
    open();
    EXPECT_TRUE(take(slow, 0)) << error;
    EXPECT_EQ(slow_store.turns, 1U);
    EXPECT_GE(others_changes, 10);
    EXPECT_LE(others_tries, 22);
    // It lets others go on at once.
    slow_store.faster = nullptr;
    waited = Duration{0};
    EXPECT_TRUE(take(other, 1)) << error;
    EXPECT_EQ(waited, Duration{0});
}

TEST_F(Starving, NobodyWaitsLongForOneThatIsGone) {
    open();
    ASSERT_TRUE(slow_store.ask_for_turn("gone"));
    other.between_tries([this](Duration pause) {
        now += pause;
        waited += pause;
        return success();
    });
    ASSERT_TRUE(other.refresh());
    EXPECT_TRUE(take(other, 1)) << error;
    EXPECT_EQ(waited, 1s);
    EXPECT_TRUE(take(other, 1)) << error;
    EXPECT_EQ(waited, 1s);
}

TEST_F(Starving, GivesSignsOfLifeAndCanBeInterrupted) {
    open();
    int calls = 0;
    between = [&] { return ++calls < 5 ? success() : Status(Error{ExitCode::interrupted, "stop"}); };
    EXPECT_FALSE(take(slow, 0));
    EXPECT_EQ(error, "stop");
    EXPECT_EQ(others_changes, 5);
    EXPECT_EQ(slow_store.renewals, 4U);
}

// Who is as old as this text knows no turns, and an editor knows none either.
TEST_F(Starving, GivesUpInTheEnd) {
    open();
    slow_store.faster = [this] {
        now += 60ms;
        master.edit(master.file + "more\n");
    };
    EXPECT_FALSE(take(slow, 0));
    EXPECT_EQ(error, "list is changed by others all the time");
    EXPECT_FALSE(slow.settle());
    EXPECT_EQ(error, "list is changed by others all the time");
    slow_store.faster = nullptr;
    EXPECT_TRUE(take(slow, 0));
    EXPECT_TRUE(slow.settle());
}

TEST_F(Starving, TriesAgainWithOneRoundTrip) {
    open();
    slow_store.faster = nullptr;
    slow_store.fault = MemoryStore::Fault::lost_before;
    EXPECT_FALSE(take(slow, 0));
    int round_trips = 0;
    slow_store.faster = [&] {
        ++round_trips;
        if (round_trips <= 3) {
            EXPECT_TRUE(take(other, 1)) << error;
        }
    };
    const std::uint64_t before = slow_store.conflicts;
    EXPECT_TRUE(slow.settle());
    EXPECT_EQ(slow_store.conflicts, before + 3);
    EXPECT_EQ(round_trips, 4);
}

}  // namespace
