#include "api/program_manager.h"

#include <gtest/gtest.h>

namespace wq::api {
namespace {

TEST(TasksWanted, ForAsManyTasksAsTheWorkersWillSoonHaveDone) {
    engine::model::ManagerStats stats;
    EXPECT_EQ(tasks_wanted(stats), 10);
    stats.tasks_waiting = 9;
    EXPECT_EQ(tasks_wanted(stats), 1);
    stats.tasks_waiting = 10;
    EXPECT_EQ(tasks_wanted(stats), 0);
    stats.workers_connected = 6;
    EXPECT_EQ(tasks_wanted(stats), 2);
    EXPECT_EQ(tasks_wanted(stats, {.minimum = 10, .minimum_factor = 1}), 0);
    EXPECT_EQ(tasks_wanted(stats, {.minimum = 0, .minimum_factor = 0}), 0);
    EXPECT_EQ(tasks_wanted(stats, {.minimum = 10.5, .minimum_factor = 0}), 1);
    EXPECT_GT(tasks_wanted(stats, {.minimum = 1e300}), 1'000'000);
}

}  // namespace
}  // namespace wq::api
