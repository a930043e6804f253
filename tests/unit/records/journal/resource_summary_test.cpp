#include "records/journal/resource_summary.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/golden_file.h"
#include "unit/records/journal/records_testing.h"

namespace wq::records::journal {
namespace {

using test::read_file;
using testing::TempDir;

TaskRecord exhausted() {
    TaskRecord record;
    record.task = TaskId(2);
    record.given = {2, 200, 1000, 0};
    engine::model::Outcome& outcome = record.outcome;
    outcome.ending = engine::model::Ending::out_of_memory;
    outcome.signal = 9;
    outcome.started_us = 1'700'000'000'250'000;
    outcome.wall_us = 2'000'000;
    outcome.user_us = 10;
    engine::model::Usage& usage = outcome.measured.emplace().usage;
    usage = {1'425,          3'000'000, 211,     400,        0, 21, 4,  41 << 20,
             (20 << 20) + 5, 0,         1 << 20, 15'625'000, 3, 7,  195};
    outcome.measured->exceeded.memory_mb = 200;
    return record;
}

TEST(ResourceSummary, SaysAllThatWasMeasuredAndTheLimitThatEndedIt) {
    test::expect_golden("stats/exhausted.summary",
                        resource_summary(exhausted(), {"align", "solve 'a' \"b\" \xff", "node7"}));
}

TEST(ResourceSummary, LeavesOutWhatNobodyMeasured) {
    TaskRecord record;
    record.task = TaskId(0);
    record.given = {2, 200, 1000, 0};
    record.outcome.exit_code = 3;
    record.outcome.started_us = 1'700'000'000'000'000;
    record.outcome.wall_us = 500'000;
    record.outcome.user_us = 100'000;
    record.outcome.system_us = 25'000;
    record.outcome.peak_memory_kb = 3456;
    test::expect_golden("stats/unwatched.summary", resource_summary(record, {"default", "exit 3", ""}));
    // The tree was watched, but the kernel did not report everything.
    record.outcome.measured.emplace().usage.memory = 77;
    const std::string partly = resource_summary(record, {"default", "exit 3", ""});
    EXPECT_NE(partly.find("77"), std::string::npos);
    EXPECT_EQ(partly.find("-1"), std::string::npos);
    EXPECT_EQ(partly.find("limits_exceeded"), std::string::npos);
}

TEST(ResourceSummary, NamesAnEndBySignalAndOneByTime) {
    TaskRecord record;
    record.outcome.ending = engine::model::Ending::signalled;
    record.outcome.signal = 11;
    std::string text = resource_summary(record, {});
    EXPECT_NE(text.find("\"exit_type\": \"signal\""), std::string::npos) << text;
    EXPECT_NE(text.find("\"exit_status\": 139"), std::string::npos) << text;
    record.outcome.ending = engine::model::Ending::timed_out;
    record.outcome.wall_us = 1'500'000;
    EXPECT_EQ(exceeded_limits(record.outcome, record.given),
              (Quantities{{"wall_time", 1'500'000, 1'000'000, "s"}}));
    text = resource_summary(record, {});
    EXPECT_NE(text.find("\"exit_type\": \"limits\""), std::string::npos) << text;
}

TEST(ResourceSummary, IsWrittenWholeAndInPlaceOfAnEarlierOne) {
    const TempDir dir;
    const std::string folder = dir.file("a/b");
    ASSERT_TRUE(write_resource_summary(folder, 417, 3, "{}\n").ok());
    ASSERT_TRUE(write_resource_summary(folder, 417, 3, "{\"x\":1}\n").ok());
    EXPECT_EQ(read_file(folder + "/wq-417-task-3.summary"), "{\"x\":1}\n");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(ResourceSummary, SaysWhichFileCouldNotBeWritten) {
    const TempDir dir;
    test::write_file(dir.file("file"), "");
    const auto status = write_resource_summary(dir.file("file/below"), 1, 1, "{}");
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find(dir.file("file/below")), std::string::npos);
}

TEST(Quantities, AreWrittenAsInTheTransactionsLog) {
    std::string text;
    put_quantities(text, quantities_of(engine::model::Sizes{1'500, 800, engine::model::unsaid,
                                                            engine::model::whole_worker}));
    put_quantities(text, {});
    EXPECT_EQ(text, R"({"cores":[1.5,"cores"],"memory":[800,"MB"]}{})");
}

}  // namespace
}  // namespace wq::records::journal
