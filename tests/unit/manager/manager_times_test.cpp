// The time statistics of a manager, and what they say of the tasks that it could keep busy.
#include <gtest/gtest.h>

#include "manager/manager_times.h"

namespace wq::manager {
namespace {

using std::chrono::milliseconds;
using Carried = ManagerTimes::Carried;

constexpr engine::model::Resources two_cores{2, 100, 10, 0};

engine::model::ManagerStats stats_of(const ManagerTimes& times) {
    engine::model::ManagerStats stats;
    times.fill(stats);
    return stats;
}

TEST(ManagerTimes, ShareOutWhatTheLoopTook) {
    ManagerTimes times;
    times.sent(milliseconds(3), Carried::work);
    times.sent(milliseconds(1), Carried::upkeep);
    times.received(milliseconds(4), Carried::work);
    times.received(milliseconds(2), Carried::upkeep);
    times.count_turn(milliseconds(80), milliseconds(20));
    const engine::model::ManagerStats stats = stats_of(times);
    EXPECT_EQ(stats.time_send, 3'000);
    EXPECT_EQ(stats.time_receive, 4'000);
    EXPECT_EQ(stats.time_status_msgs, 3'000);
    EXPECT_EQ(stats.time_internal, 10'000);
    EXPECT_EQ(stats.time_polling, 80'000);
    EXPECT_DOUBLE_EQ(stats.manager_load, 0.2);
}

TEST(ManagerTimes, TheGoodShareIsThatOfTheAttemptsThatSucceeded) {
    ManagerTimes times;
    times.sent(milliseconds(8), Carried::work);
    times.received(milliseconds(4), Carried::work);
    EXPECT_EQ(stats_of(times).time_send_good, 0) << "nothing has ended";
    times.ended(3, 3, 10, two_cores);
    times.ended(1, 0, 10, two_cores);
    EXPECT_EQ(stats_of(times).time_send_good, 6'000);
    EXPECT_EQ(stats_of(times).time_receive_good, 3'000);
}

TEST(ManagerTimes, NothingIsSaidOfCapacityBeforeAnEnd) {
    ManagerTimes times;
    times.count_turn(milliseconds(1), milliseconds(1));
    EXPECT_EQ(stats_of(times).capacity_tasks, 0);
    EXPECT_EQ(stats_of(times).capacity_cores, 0);
}

TEST(ManagerTimes, CapacityIsHowOftenTheWorkOfTheManagerGoesIntoThatOfTheTask) {
    ManagerTimes times;
    for (int n = 0; n < 4; ++n) {
        times.ended(1, 1, 1'000'000, two_cores);
        times.count_turn(milliseconds(999), milliseconds(1));
    }
    const engine::model::ManagerStats stats = stats_of(times);
    EXPECT_EQ(stats.capacity_tasks, 1'000);
    EXPECT_EQ(stats.capacity_cores, 2'000);
    EXPECT_EQ(stats.capacity_memory, 100'000);
    EXPECT_EQ(stats.capacity_disk, 10'000);
    EXPECT_EQ(stats.capacity_instantaneous, 1'000);
    EXPECT_EQ(stats.capacity_weighted, 1'000);
}

TEST(ManagerTimes, UpkeepBetweenEndsIsNoCostOfATask) {
    ManagerTimes times;
    times.sent({}, Carried::work);
    times.count_turn(milliseconds(1), milliseconds(1));
    for (int n = 0; n < 1'000; ++n) times.count_turn(milliseconds(1), milliseconds(1));
    times.ended(1, 1, 1'000'000, two_cores);
    times.count_turn(milliseconds(1), milliseconds(1));
    EXPECT_EQ(stats_of(times).capacity_tasks, 500);
}

TEST(ManagerTimes, CapacityForgetsWhatIsLongAgo) {
    ManagerTimes times;
    const auto end = [&](std::uint64_t count, std::int64_t wall_us) {
        times.ended(count, count, wall_us, two_cores);
        times.count_turn({}, milliseconds(1));
    };
    end(1'000, 1'000'000'000);
    for (int n = 0; n < 49; ++n) end(1, 2'000);
    EXPECT_GT(stats_of(times).capacity_tasks, 1'000) << "49 ends are too few to forget the first";
    end(1, 2'000);
    EXPECT_EQ(stats_of(times).capacity_tasks, 2);
    EXPECT_EQ(stats_of(times).capacity_instantaneous, 2);
    EXPECT_GT(stats_of(times).capacity_weighted, 2) << "it remembers longer";
}

}  // namespace
}  // namespace wq::manager
