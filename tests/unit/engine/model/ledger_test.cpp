#include "engine/model/ledger.h"

#include <gmock/gmock.h>

#include <map>
#include <random>

namespace wq::engine::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Shape shape_number(std::uint64_t number) {
    Shape shape;
    shape.needs.cores = static_cast<std::int64_t>(number % 3 + 1);
    if (number >= 3) shape.workers = {WorkerId(7), WorkerId(9)};
    return shape;
}

struct Naive {
    std::uint64_t shape = 0;
    TaskState state = TaskState::blocked;
    std::uint32_t losses = 0;
    bool given_out = false;
};

void expect_equal(const Ledger& ledger, const std::map<std::uint64_t, Naive>& naive, std::uint64_t seed) {
    ASSERT_EQ(ledger.audit(), std::nullopt) << "seed " << seed;
    std::map<std::uint64_t, std::pair<IntervalSet, IntervalSet>> ready;  // by shape: others, suspects
    for (const auto& [id, task] : naive) {
        ASSERT_EQ(name_of(ledger.state(TaskId(id))), std::string(name_of(task.state)))
            << "seed " << seed << ", task " << id;
        ASSERT_EQ(ledger.shape(ledger.shape_of(TaskId(id))), shape_number(task.shape)) << "seed " << seed;
        if (task.state == TaskState::ready)
            (task.losses > 0 ? ready[task.shape].second : ready[task.shape].first).insert(id);
        ASSERT_TRUE(!is_final(task.state) || ledger.find_attempted(TaskId(id)) == nullptr);
    }
    std::size_t any = 0;
    std::size_t pinned = 0;
    for (std::uint32_t index = 0; index < ledger.shapes(); ++index) {
        const ReadyTasks& queues = ledger.ready(ShapeId(index));
        std::uint64_t number = 0;
        while (!(shape_number(number) == ledger.shape(ShapeId(index)))) ++number;
        IntervalSet others;
        for (const auto& [priority, queue] : queues.queues)
            for (const IntervalSet* set : {&queue.fresh, &queue.again})
                set->for_each([&](Interval part) { others.insert(part); });
        ASSERT_EQ(others, ready[number].first) << "seed " << seed;
        ASSERT_EQ(queues.suspects, ready[number].second) << "seed " << seed;
        if (!others.empty()) ++(number >= 3 ? pinned : any);
    }
    ASSERT_EQ(ledger.ready_shapes().size(), any) << "seed " << seed;
    ASSERT_EQ(ledger.ready_shapes_for(WorkerId(9)).size(), pinned) << "seed " << seed;
    ASSERT_EQ(ledger.ready_shapes_for(WorkerId(8)).size(), 0u);
}

TEST(Ledger, AgreesWithAPlainMapAfterEveryChange) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        std::mt19937_64 random(seed);
        Ledger ledger;
        std::map<std::uint64_t, Naive> naive;
        for (int step = 0; step < 60; ++step) {
            if (naive.empty() || random() % 5 == 0) {
                const std::uint64_t shape = random() % 5;
                const std::uint64_t count = 1 + random() % 6;
                ledger.add({TaskId(ledger.size()), count, shape_number(shape), {}}, step * 300'000);
                for (std::uint64_t i = 0; i < count; ++i)
                    naive[naive.size()] = {shape, TaskState::blocked, 0, false};
            } else {
                const std::uint64_t id = random() % naive.size();
                const auto event = static_cast<TaskEvent>(random() % task_event_count);
                Naive& task = naive[id];
                const auto to = next_state(task.state, event);
                if (!to || (event == TaskEvent::seal && task.given_out)) continue;
                ledger.change(TaskId(id), event);
                if (*to == TaskState::leased) ledger.attempted(TaskId(id)).attempt++;
                task.state = *to;
                task.given_out = task.given_out || event == TaskEvent::lease;
                if (event == TaskEvent::lose) ++task.losses;
            }
            expect_equal(ledger, naive, seed);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(Ledger, WholeRangesChangeAtOnceAcrossShapes) {
    Ledger ledger;
    ledger.add({TaskId(0), 100'000'000, shape_number(0), {}}, 0);
    ledger.add({TaskId(100'000'000), 100'000'000, shape_number(1), {}}, 0);
    ledger.change(Interval{0, 200'000'000}, TaskEvent::unblock);
    EXPECT_EQ(ledger.count(TaskState::ready), 200'000'000u);
    EXPECT_THAT(ledger.take_awakened(), ElementsAre(ShapeId(0), ShapeId(1)));
    EXPECT_THAT(ledger.take_awakened(), IsEmpty());
    ledger.change(Interval{50'000'000, 150'000'000}, TaskEvent::seal);
    EXPECT_EQ(ledger.ready(ShapeId(1)).next(), TaskId(150'000'000));
    ledger.change(Interval{50'000'000, 150'000'000}, TaskEvent::give_back);
    EXPECT_THAT(ledger.ready_shapes(), ElementsAre(ReadyHead{0, TaskId(0), ShapeId(0)},
                                                   ReadyHead{0, TaskId(100'000'000), ShapeId(1)}));
}

TEST(Ledger, KeepsRangesOfOneSecondTogetherAndTheirTimesApart) {
    Ledger ledger;
    ledger.add({TaskId(0), 1, shape_number(0), {}}, 1'000);
    ledger.add({TaskId(1), 1, shape_number(0), {}}, 999'000);
    ledger.add({TaskId(2), 1, shape_number(0), {}}, 2'000'000);
    EXPECT_EQ(ledger.submitted(TaskId(1)), 1'000);
    EXPECT_EQ(ledger.submitted(TaskId(2)), 2'000'000);
    EXPECT_EQ(ledger.shapes(), 1u);
}

TEST(LedgerDeathTest, AnArrowThatIsNotThereIsOurBug) {
    Ledger ledger;
    ledger.add({TaskId(0), 1, shape_number(0), {}}, 0);
    EXPECT_DEATH(ledger.change(TaskId(0), TaskEvent::succeed), "bug: task 0 cannot succeed while blocked");
}

}  // namespace
}  // namespace wq::engine::model
