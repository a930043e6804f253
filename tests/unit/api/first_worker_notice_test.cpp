#include "api/program_manager.h"

#include <gtest/gtest.h>

#include <vector>

namespace wq::api {
namespace {

using std::chrono::seconds;

class FirstWorkerNoticeTest : public ::testing::Test {
  protected:
    std::optional<Instant> look(std::int64_t second) {
        return notice_.print_if_due(stats_, begin_ + seconds(second),
                                    [this](const std::string& line) { said_.push_back(line); });
    }

    const Instant begin_{seconds(1000)};
    FirstWorkerNotice notice_{"work_queue_worker localhost 9123"};
    engine::model::ManagerStats stats_;
    std::vector<std::string> said_;
};

TEST_F(FirstWorkerNoticeTest, SaysOnceHowToStartAWorker) {
    EXPECT_EQ(look(0), std::nullopt);  // no task waits
    stats_.tasks_waiting = 5;
    EXPECT_EQ(look(20), begin_ + seconds(30));
    EXPECT_EQ(look(29), begin_ + seconds(30));
    EXPECT_TRUE(said_.empty());
    EXPECT_EQ(look(30), std::nullopt);
    EXPECT_EQ(said_,
              std::vector<std::string>{
                  "tasks wait, and no worker is connected; start one: work_queue_worker localhost 9123"});
    EXPECT_EQ(look(60), std::nullopt);
    EXPECT_EQ(said_.size(), 1U);
}

TEST_F(FirstWorkerNoticeTest, IsSilentOnceAWorkerHasCome) {
    stats_.tasks_waiting = 5;
    look(0);
    stats_.workers_connected = 1;
    look(5);
    stats_.workers_connected = 0;
    EXPECT_EQ(look(60), std::nullopt);
    EXPECT_TRUE(said_.empty());
}

TEST_F(FirstWorkerNoticeTest, CountsOnlyTheTimeInWhichTasksWait) {
    stats_.tasks_waiting = 1;
    look(0);
    stats_.tasks_waiting = 0;  // cancelled
    look(9);
    stats_.tasks_waiting = 1;
    EXPECT_EQ(look(12), begin_ + seconds(22));
    EXPECT_TRUE(said_.empty());
}

TEST_F(FirstWorkerNoticeTest, IsSilentWhereWorkersComeByThemselves) {
    notice_ = FirstWorkerNotice("");
    stats_.tasks_waiting = 1;
    EXPECT_EQ(look(0), std::nullopt);
    EXPECT_EQ(look(60), std::nullopt);
    EXPECT_TRUE(said_.empty());
}

}  // namespace
}  // namespace wq::api
