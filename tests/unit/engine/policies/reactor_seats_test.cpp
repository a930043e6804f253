// Fractions of cores and of GPUs: leases never exceed the seats.
#include "engine/model/allocation.h"
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

Count thousandths(std::int64_t number) {
    return Count::of_thousandths(number);
}

TEST(Seats, AsManyAsSitSideBySide) {
    EXPECT_EQ(how_many_seats(thousandths(600), 2), 2);
    EXPECT_EQ(how_many_seats(thousandths(300), 4), 12);
    EXPECT_EQ(how_many_seats(thousandths(1300), 4), 3);
    EXPECT_EQ(how_many_seats(thousandths(1600), 5), 2);
    EXPECT_EQ(how_many_seats(thousandths(1500), 4), 2);
    EXPECT_EQ(how_many_seats(2, 5), 2);
}

TEST(Seats, AreAsManyOneByOneAsAtOnce) {
    for (std::int64_t cores = 1; cores <= 9; ++cores)
        for (std::int64_t each = 1; each <= 1000 * cores; each += 7) {
            Seats seats;
            std::int64_t seated = 0;
            for (; seats.have_room(thousandths(each), cores) && 1000 * cores >= (seated + 1) * each; ++seated)
                seats.add(TaskId(static_cast<std::uint64_t>(seated)), thousandths(each));
            ASSERT_EQ(seated, how_many_seats(thousandths(each), cores)) << each << " of " << cores;
        }
}

TEST(Seats, PartsOfManySizesSitCloseTogether) {
    Seats seats;
    std::uint64_t task = 0;
    for (const std::int64_t part : {600, 400, 700, 300, 250, 250, 500})
        seats.add(TaskId(task++), thousandths(part));
    EXPECT_EQ(seats.untouched(4), 1);
    EXPECT_TRUE(seats.have_room(1, 4));
    EXPECT_FALSE(seats.have_room(thousandths(1100), 4));
    seats.remove(TaskId(6), thousandths(500));
    EXPECT_FALSE(seats.have_room(thousandths(1600), 4));
    EXPECT_TRUE(seats.have_room(thousandths(1500), 4));
}

TEST(Seats, TwoHalvesThatAreLeftOfTwoAreNoWholeOne) {
    Seats seats;
    for (std::uint64_t task = 0; task < 4; ++task) seats.add(TaskId(task), thousandths(500));
    seats.remove(TaskId(0), thousandths(500));
    seats.remove(TaskId(2), thousandths(500));
    EXPECT_FALSE(seats.have_room(1, 2));
    EXPECT_TRUE(seats.have_room(thousandths(500), 2));
    EXPECT_TRUE(seats.have_room(0, 2));
    seats.remove(TaskId(3), thousandths(500));
    EXPECT_TRUE(seats.have_room(1, 2));
}

class SeatsTest : public RunFixture {
  protected:
    void join_one(const Resources& offers) { event(WorkerJoined{WorkerId(1), "node1", offers, {}, false}); }
    std::size_t leased(std::uint64_t count, const Needs& needs) {
        Shape shape;
        shape.needs = needs;
        add(count, shape);
        std::size_t leases = 0;
        take([&](const std::string& line) { leases += line.starts_with("lease ") ? 1 : 0; });
        return leases;
    }
};

TEST_F(SeatsTest, NoMoreIsLeasedThanSitsOnTheCores) {
    join_one({2, 2000, 0, 0});
    EXPECT_EQ(leased(5, {.cores = thousandths(600), .memory_mb = 1}), 2u);
}

TEST_F(SeatsTest, NorOnTheGpus) {
    join_one({8, 2000, 0, 4});
    EXPECT_EQ(leased(9, {.gpus = thousandths(300)}), 9u);
    EXPECT_EQ(leased(9, {.gpus = thousandths(600)}), 1u);
    EXPECT_EQ(leased(1, {.gpus = 1}), 0u);
}

TEST_F(SeatsTest, WholeCoresAreThoseThatNothingSitsOn) {
    join_one({4, 2000, 0, 0});
    EXPECT_EQ(leased(3, {.cores = thousandths(600), .memory_mb = 1}), 3u);
    EXPECT_EQ(leased(1, {.cores = 2, .memory_mb = 1}), 0u);
    EXPECT_EQ(leased(2, {.cores = 1, .memory_mb = 1}), 1u);
}

TEST_F(SeatsTest, ProportionsKnowWhatSitsThere) {
    options({.allocation = {.rest = Rest::proportional}});
    join_one({2, 2000, 0, 0});
    EXPECT_EQ(leased(5, {.cores = thousandths(600)}), 2u);
    EXPECT_EQ(reactor_.workers().find(WorkerId(1))->used, (Resources{2, 2000, 0, 0}));
}

}  // namespace
}  // namespace wq::engine::policies
