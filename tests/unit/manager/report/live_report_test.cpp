#include "manager/report/live_report.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "records/journal/append_file.h"
#include "support/folder.h"
#include "support/inline_background.h"

namespace wq::manager::report {
namespace {

class LiveReportTest : public ::testing::Test {
  protected:
    LiveReportTest() {
        std::filesystem::create_directory(folder_ / "why");
        records::journal::write_atomically(folder_ / "why/me.ask", "7").or_throw();
    }
    static engine::model::Now at(int seconds) { return {Instant{} + std::chrono::seconds(seconds), 0}; }
    bool exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }

    test::Folder folder_;
    testing::InlineBackground background_;
    int done_ = 0;
    LiveReport report_{
        background_,
        folder_.path(),
        {[this] {
             records::journal::RunStatus status;
             status.state = "running";
             status.tasks.tasks_done = ++done_;
             return status;
         },
         [](std::uint64_t line, engine::model::Now) { return "line " + std::to_string(line); }},
        Instant{}};
};

// The jobs of the background stand still, as on a file system that hangs: the loop goes on, touches nothing,
// and does not heap up jobs.
TEST_F(LiveReportTest, TheLoopTouchesNoFile) {
    for (int second = 0; second < 60; ++second) report_.tick(at(second));
    EXPECT_TRUE(exists("why/me.ask"));
    EXPECT_FALSE(exists("status"));
    EXPECT_EQ(done_, 1);
    EXPECT_TRUE(background_.step());
    EXPECT_TRUE(background_.step());
    EXPECT_TRUE(background_.step()) << "the answer";
    EXPECT_FALSE(background_.step());
    EXPECT_EQ(records::journal::read_whole(folder_ / "why/me.answer").or_throw(), "line 7\n");
    EXPECT_FALSE(exists("why/me.ask"));
    EXPECT_EQ(records::journal::read_status(folder_.path()).or_throw().tasks.tasks_done, 1);
}

TEST_F(LiveReportTest, TheStatusIsWrittenAnewAndQuestionsAreLookedFor) {
    EXPECT_EQ(report_.wakeup(), at(1).instant);
    for (int second = 0; second < 7; ++second) {
        report_.tick(at(second));
        background_.run();
    }
    EXPECT_EQ(records::journal::read_status(folder_.path()).or_throw().tasks.tasks_done, 2);
    EXPECT_TRUE(exists("why/me.answer"));
}

}  // namespace
}  // namespace wq::manager::report
