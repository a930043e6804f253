#include "manager/report/progress.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/folder.h"

namespace wq::manager::report {
namespace {

using ::testing::StartsWith;

constexpr WallMicros second = 1'000'000;

records::journal::RunStatus running() {
    records::journal::RunStatus status;
    status.state = "running";
    status.started_us = wall_now() - 60 * second;
    status.tasks.tasks_submitted = 100;
    status.tasks.tasks_done = 42;
    status.tasks.tasks_failed = 2;
    status.tasks.tasks_running = status.tasks.tasks_on_workers = 2;
    status.tasks.tasks_waiting = 56;
    status.tasks_per_second = 2;
    return status;
}

TEST(RunProgress, OfALiveRunHasRateAndTimeLeft) {
    const test::Folder folder;
    records::journal::write_status(folder.path(), running()).or_throw();
    const RunProgress view = view_of_directory(folder.path()).or_throw();
    EXPECT_EQ(view_text(view),
              "running: 40 succeeded, 2 failed, 2 running of 100 | 42% | 2.0/s | 29s left | 1m00s elapsed");
    const auto json = nlohmann::json::parse(view_json(view));
    EXPECT_EQ(json["state"], "running");
    EXPECT_EQ(json["exit_code"], nullptr);
    EXPECT_EQ(json["tasks"]["waiting"], 56);
    EXPECT_EQ(json["seconds_left"], 29);
}

TEST(RunProgress, OfARunThatHasEndedSaysHow) {
    const test::Folder folder;
    records::journal::RunStatus status = running();
    status.ended_us = status.started_us + 5 * second;
    status.state = "interrupted";
    status.exit_code = 75;
    status.message = "SIGTERM";
    status.tasks.tasks_running = 0;
    records::journal::write_status(folder.path(), status).or_throw();
    EXPECT_EQ(
        view_text(view_of_directory(folder.path()).or_throw()),
        "interrupted, SIGTERM, exit 75; --resume continues: 40 succeeded, 2 failed, 0 running of 100 | 42% | "
        "5s elapsed");
    status.message = status.state;
    records::journal::write_status(folder.path(), status).or_throw();
    EXPECT_TRUE(view_text(view_of_directory(folder.path()).or_throw()).starts_with("interrupted, exit 75;"));
    EXPECT_EQ(view_of_directory(folder / "none").error().code, ExitCode::bad_input);
}

TEST(RunProgress, OfARunThatWasKilledIsNotLive) {
    RunProgress view{"r", running()};
    view.age = std::chrono::minutes(5);
    EXPECT_THAT(view_text(view),
                StartsWith("killed, no sign of life for 5m00s; --resume continues: 40 succeeded"));
}

}  // namespace
}  // namespace wq::manager::report
