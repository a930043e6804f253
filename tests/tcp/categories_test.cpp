// Allocations by category, and measurements of tasks, with workers as processes.
#include <fstream>
#include <nlohmann/json.hpp>

#include "program_fixture.h"

namespace wq {
namespace {

using Json = nlohmann::json;

class Categories : public testing::Program {
  protected:
    // A worker with eight or three of each resource by which tasks are sized.
    void start_large_worker() {
        start_worker({"--contact", folder_ + "/contact", "--cores", "8", "--memory", "900"});
    }
    Task run(Task task) {
        EXPECT_GT(manager_->submit(std::move(task)), 0) << manager_->last_error();
        auto ended = manager_->wait();
        return ended ? *ended : Task();
    }
    static Task takes_400_mb() { return Task("dd if=/dev/zero bs=400M count=1 of=/dev/null"); }
    // With too little memory nobody reads the pipe: dd holds its memory until it is killed.
    static Task holds_400_mb() {
        return Task(
            "dd if=/dev/zero bs=400M count=1 | if [ $MEMORY -lt 500 ]; then tail -f /dev/null; else wc -c; "
            "fi");
    }
};

TEST_F(Categories, TasksAreSizedByWhatOthersOfTheirCategoryTookAndTriedOnceMoreWhereThatIsTooLittle) {
    start_large_worker();
    ASSERT_TRUE(manager_->enable_monitoring());
    ASSERT_TRUE(manager_->specify_category_mode("a", AllocationMode::max_throughput));
    EXPECT_EQ(run(Task("true").category("a")).resources_allocated().memory, 900);
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(run(Task("true").category("a")).ok());
    const Task small = run(Task("true").category("a"));
    EXPECT_LT(small.resources_allocated().memory, 400);
    EXPECT_LT(small.resources_allocated().cores, 8);
    EXPECT_GE(small.resources_allocated().cores, 1);
    const Task large = run(holds_400_mb().category("a"));
    EXPECT_TRUE(large.ok()) << large.reason();
    EXPECT_EQ(large.attempts(), 2u);
    EXPECT_EQ(large.resources_allocated().memory, 900);
    EXPECT_EQ(manager_->stats_category("a").tasks_exhausted_attempts, 1);
    const auto all = manager_->categories();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_TRUE(all[0].max_memory.starts_with("~") || all[0].max_memory.starts_with(">"))
        << all[0].max_memory;
    EXPECT_EQ(all[0].fit_workers, 1);
}

TEST_F(Categories, NothingHoldsTasksToWhatTheySaidWithoutMonitoring) {
    start_large_worker();
    EXPECT_TRUE(run(takes_400_mb().memory(100)).ok());
    ASSERT_TRUE(manager_->enable_monitoring(folder_ + "/measured", false));
    Task task = run(takes_400_mb().memory(100));
    EXPECT_TRUE(task.ok());
    EXPECT_GE(task.resources_measured().memory, 300);
    EXPECT_EQ(task.limits_exceeded().memory, -1);
    ASSERT_TRUE(manager_->enable_monitoring(folder_ + "/measured"));
    task = run(holds_400_mb().memory(100));
    EXPECT_EQ(task.result(), TaskResult::resource_exhaustion);
    EXPECT_EQ(task.limits_exceeded().memory, task.resources_allocated().memory);
    std::ifstream file(folder_ + "/measured/wq-" + std::to_string(::getpid()) + "-task-" +
                       std::to_string(task.id()) + ".summary");
    const Json summary = Json::parse(file, nullptr, false);
    ASSERT_TRUE(summary.is_object());
    EXPECT_EQ(summary["exit_type"], "limits");
    EXPECT_EQ(summary["limits_exceeded"]["memory"][0], task.limits_exceeded().memory);
    EXPECT_EQ(summary["memory"], Json::array({task.resources_measured().memory, "MB"}));
}

}  // namespace
}  // namespace wq
