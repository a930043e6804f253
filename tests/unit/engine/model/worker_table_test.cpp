#include "engine/model/worker_table.h"

#include <gmock/gmock.h>

namespace wq::engine::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using namespace std::chrono_literals;

WorkerJoined worker(std::uint32_t id, std::int64_t cores, std::optional<Duration> leaves = {}) {
    WorkerJoined joined;
    joined.worker = WorkerId(id);
    joined.host = "node" + std::to_string(id);
    joined.offers = {cores, cores * 1000, 0, 0};
    if (leaves) joined.leaves_at = Instant(*leaves);
    return joined;
}

struct WorkerTableTest : ::testing::Test {
    ~WorkerTableTest() override { EXPECT_EQ(table.audit(), std::nullopt); }
    WorkerTable table;
};

TEST_F(WorkerTableTest, OrdersWorkersOfAKindByFreeCores) {
    for (const std::uint32_t id : {1u, 2u, 3u}) table.add(worker(id, 4), Instant());
    table.lease(*table.find(WorkerId(2)), TaskId(0), {1, 0, 0, 0});
    table.lease(*table.find(WorkerId(1)), TaskId(1), {6, 0, 0, 0});
    ASSERT_EQ(table.kinds().size(), 1u);
    std::vector<std::pair<std::int64_t, std::uint32_t>> places;
    for (const SearchPosition& place : table.kinds().begin()->second.by(Scarce::cores))
        places.emplace_back(place.room, place.id.value());
    EXPECT_THAT(places, ElementsAre(Pair(4000, 3), Pair(3000, 2), Pair(-2000, 1)));
    EXPECT_EQ(table.busy(), 2u);
    EXPECT_EQ(table.total(), (Resources{12, 12'000, 0, 0}));
    EXPECT_EQ(table.committed(), (Resources{7, 0, 0, 0}));
    table.release(*table.find(WorkerId(1)), TaskId(1), {6, 0, 0, 0});
    table.release(*table.find(WorkerId(1)), TaskId(1), {6, 0, 0, 0});  // repeating it changes nothing
    EXPECT_EQ(table.find(WorkerId(1))->free().cores, 4);
    table.remove(WorkerId(2));
    EXPECT_EQ(table.busy(), 0u);
    EXPECT_EQ(table.committed(), Resources{});
}

TEST_F(WorkerTableTest, OrdersWorkersOfAKindByWhatIsScarceOnceThatIsAskedFor) {
    for (const std::uint32_t id : {1u, 2u, 3u}) {
        WorkerJoined joined = worker(id, 4);
        joined.offers.gpus = 2;
        table.add(joined, Instant());
    }
    table.lease(*table.find(WorkerId(1)), TaskId(0), {0, 0, 0, 1});
    EXPECT_TRUE(table.kinds().begin()->second.by(Scarce::gpus).empty());
    table.keep_order(Scarce::gpus);
    table.lease(*table.find(WorkerId(2)), TaskId(1), {1, 0, 0, 0});
    table.add(worker(4, 4), Instant());
    std::vector<std::pair<std::int64_t, std::uint32_t>> places;
    for (const SearchPosition& place : table.find(WorkerId(1))->kind->second.by(Scarce::gpus))
        places.emplace_back(place.room, place.id.value());
    EXPECT_THAT(places, ElementsAre(Pair(2000, 3), Pair(2000, 2), Pair(1000, 1)));  // the idle one first
    table.release(*table.find(WorkerId(1)), TaskId(0), {0, 0, 0, 1});
    table.drain(*table.find(WorkerId(3)));
}

TEST_F(WorkerTableTest, LeasesWaitForWhateverTheyHaveMoreOfThanThereIs) {
    WorkerJoined joined = worker(1, 4);
    joined.offers.gpus = 2;
    Worker& queue = table.add(joined, Instant());
    for (std::uint64_t task = 0; task < 5; ++task) table.lease(queue, TaskId(task), {0, 0, 0, 1});
    EXPECT_EQ(queue.queue(), 3u);
    EXPECT_EQ(table.queued(), 3u);
    for (std::uint64_t task = 0; task < 5; ++task) table.release(queue, TaskId(task), {0, 0, 0, 1});
    EXPECT_EQ(table.queued(), 0u);
}

TEST_F(WorkerTableTest, AKindIsEqualCoresAndFeaturesAndAnEndWithinSixHours) {
    table.add(worker(1, 4), Instant());
    table.add(worker(2, 4, 6h + 1s), Instant());
    table.add(worker(3, 4, 12h), Instant());
    table.add(worker(4, 4, 12h + 1s), Instant());
    table.add(worker(5, 8), Instant());
    EXPECT_EQ(table.kinds().size(), 4u);
    for (const auto& [kind, of_kind] : table.kinds())
        for (const SearchPosition& place : of_kind.by(Scarce::cores)) {
            EXPECT_TRUE(table.find(place.id)->whole.fits_in(kind.at_most.whole));
            EXPECT_TRUE(!kind.leaves_by || *place.leaves_at <= *kind.leaves_by);
        }
    table.remove(WorkerId(2));
    table.remove(WorkerId(3));
    EXPECT_EQ(table.kinds().size(), 3u);
}

// The order in which searches visit kinds.
TEST_F(WorkerTableTest, AThousandWorkersOfOneClusterAreFewKinds) {
    for (std::uint32_t id = 0; id < 1000; ++id) {
        WorkerJoined joined = worker(id, 32, 1min * id);  // jobs started over a day
        joined.offers.memory_mb = 257'000 + id % 7;       // after the kernel's share
        joined.offers.disk_mb = 100'000 + 311 * id;       // after other users' files
        table.add(joined, Instant());
    }
    EXPECT_LE(table.kinds().size(), 12u);
    EXPECT_EQ(table.offers().size(), 1000u);
    table.set_disconnected(*table.find(WorkerId(3)), Instant(1s), 60s, "cut");
    table.drain(*table.find(WorkerId(4)));
    table.remove(WorkerId(5));
    EXPECT_EQ(table.offers().size(), 999u);
}

TEST_F(WorkerTableTest, KnowsWhoWasSilentLongest) {
    EXPECT_EQ(table.quietest(), nullptr);
    table.add(worker(1, 4), Instant(1s));
    table.add(worker(2, 4), Instant(2s));
    EXPECT_EQ(table.quietest()->id, WorkerId(1));
    table.mark_heard(*table.find(WorkerId(1)), Instant(3s));
    EXPECT_EQ(table.quietest()->id, WorkerId(2));
}

TEST_F(WorkerTableTest, NamesEachChangedWorkerOnce) {
    table.add(worker(1, 4), Instant());
    table.changed(*table.find(WorkerId(1)));
    EXPECT_THAT(table.take_changed(), ElementsAre(WorkerId(1)));
    EXPECT_THAT(table.take_changed(), IsEmpty());
    table.lease(*table.find(WorkerId(1)), TaskId(0), {1, 0, 0, 0});
    EXPECT_THAT(table.take_changed(), IsEmpty());
    table.release(*table.find(WorkerId(1)), TaskId(0), {1, 0, 0, 0});
    EXPECT_THAT(table.take_changed(), ElementsAre(WorkerId(1)));
}

TEST_F(WorkerTableTest, ForgetsTheSuspectThatEnded) {
    Worker& one = table.add(worker(1, 4), Instant());
    table.lease(one, TaskId(5), {1, 0, 0, 0});
    one.suspect = TaskId(5);
    one.alone = true;
    table.release(one, TaskId(5), {1, 0, 0, 0});
    EXPECT_FALSE(one.suspect);
    EXPECT_FALSE(one.alone);
}

}  // namespace
}  // namespace wq::engine::model
