// How many tasks wait, by shape and reason.
#include <gtest/gtest.h>

#include "run_fixture.h"

namespace wq::engine::model {

static std::ostream& operator<<(std::ostream& out, const WaitingTasks& tasks) {
    return out << (tasks.shape ? std::to_string(tasks.shape->value()) : "any") << " " << name_of(tasks.reason)
               << " " << tasks.tasks;
}

}  // namespace wq::engine::model

namespace wq::engine::policies {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::optional<ShapeId> any;

class WaitingTest : public RunFixture {
  protected:
    WaitingTest() {
        waits_.wait_for_fitting = true;
        options(waits_);
    }
    ~WaitingTest() override {
        take([](const std::string&) {});
    }
    std::vector<WaitingTasks> waiting() const { return reactor_.waiting(); }
    static WaitingTasks of(std::uint32_t shape, WaitReason reason, std::uint64_t tasks) {
        return {ShapeId(shape), reason, tasks};
    }
    ReactorOptions waits_;
};

TEST_F(WaitingTest, NothingWaitsForTheProgramUntilTheInputEnds) {
    EXPECT_THAT(waiting(), ElementsAre(WaitingTasks{any, WaitReason::program, 1}));
    join(1);
    add(1);
    EXPECT_THAT(waiting(), ElementsAre(WaitingTasks{any, WaitReason::program, 1}));
    end_input();
    EXPECT_THAT(waiting(), IsEmpty());
}

TEST_F(WaitingTest, ForAWorker) {
    add(5);
    add(7, cores(2));
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::no_worker, 5), of(1, WaitReason::no_worker, 7)));
    join_watched(1, 2);
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::busy, 3), of(1, WaitReason::busy, 7)));
    away(1);
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::no_worker, 3), of(1, WaitReason::no_worker, 7)));
}

TEST_F(WaitingTest, ForAsManyWorkersAsTheRunNeeds) {
    waits_.hold_until_workers = 2;
    options(waits_);
    add(5);
    join_watched(1);
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::no_worker, 5)));
    join_watched(2);
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::busy, 3)));
    leave(2);
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::busy, 4)));
}

TEST_F(WaitingTest, ForALimitOfTheRun) {
    waits_.most_running = 2;
    options(waits_);
    join_watched(1, 4);
    add(5);
    add(2, cores(16));
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::limit, 3), of(1, WaitReason::limit, 2)));
}

TEST_F(WaitingTest, ForALimitOfACategory) {
    Shape limited = cores(1);
    limited.category = CategoryId(1);
    CategorySet set;
    set.category = CategoryId(1);
    set.max_concurrent = 1;
    event(set);
    join_watched(1, 4);
    add(3, limited);
    add(4, cores(1));
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::limit, 2), of(1, WaitReason::busy, 1)));
}

TEST_F(WaitingTest, ForAWorkerThatIsLargeEnoughOrHasAFeature) {
    join_watched(1, 4);
    add(2, cores(16));
    Shape special = cores(1);
    special.features = {"fast"};
    add(3, special);
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::nowhere, 2), of(1, WaitReason::nowhere, 3)));
    join_watched(2, 1, {"fast"});
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::nowhere, 2), of(1, WaitReason::busy, 2)));
}

TEST_F(WaitingTest, ForAHostThatGetsTasks) {
    join_watched(1, 16);
    join_watched(2, 1);
    event(HostBlocked{"node1", {}});
    add(2, cores(16));
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::hosts, 2)));
    event(HostUnblocked{"node1"});
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::busy, 1)));
    drain(1);
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::hosts, 1)));
}

TEST_F(WaitingTest, ForAWorkerThatTheyName) {
    join_watched(1);
    join_watched(2);
    add(2, pinned({1}));
    add(3, pinned({1, 2}));
    add(4, pinned({7}));
    EXPECT_THAT(waiting(), UnorderedElementsAre(of(0, WaitReason::busy, 1), of(1, WaitReason::busy, 2),
                                                of(2, WaitReason::nowhere, 4)));
}

TEST_F(WaitingTest, ForEarlierTasksOrATime) {
    join_watched(1);
    add(1);
    barrier();
    add(5);
    Shape later;
    later.not_before = now().wall + 5'000'000;
    add(2, later);
    EXPECT_THAT(waiting(), ElementsAre(WaitingTasks{any, WaitReason::tasks, 7}));
    ok(1, 0);
    EXPECT_THAT(waiting(),
                ElementsAre(of(0, WaitReason::busy, 4), WaitingTasks{any, WaitReason::start_time, 2}));
    idle(seconds(6));
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::busy, 6)));
}

TEST_F(WaitingTest, ForStorageOrTheEnd) {
    join_watched(1, 2);
    add(5);
    event(StorageTrouble{true});
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::storage, 3)));
    event(StorageTrouble{false});
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::busy, 3)));
    stop();
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::stopping, 3)));
}

// Suspects count once, among the others of their shape.
TEST_F(WaitingTest, AfterALoss) {
    join_watched(1);
    add(3);
    lose(1);
    EXPECT_THAT(waiting(), ElementsAre(of(0, WaitReason::no_worker, 3)));
}

TEST_F(WaitingTest, FurtherShapesAreOne) {
    std::vector<Action> actions;  // without the audit after each event, which visits all shapes
    for (std::uint64_t first = 0; first < 2020; first += 2)
        reactor_.on(
            TasksAdded{{TaskId(first), 2, cores(static_cast<std::int64_t>(first) / 2 + 1), {}}, {}, {}},
            now(), actions);
    ASSERT_EQ(reactor_.audit(), std::nullopt);
    const std::vector<WaitingTasks> all = waiting();
    ASSERT_EQ(all.size(), 1001u);
    EXPECT_EQ(all.front(), of(0, WaitReason::no_worker, 2));
    EXPECT_EQ(all.back(), (WaitingTasks{any, WaitReason::no_worker, 20}));
}

}  // namespace
}  // namespace wq::engine::policies
