#include "records/journal/output_log.h"

#include <gtest/gtest.h>

#include "unit/records/journal/records_testing.h"

namespace wq::records::journal {
namespace {

using test::read_file;
using test::write_file;
using testing::record_number;
using testing::TempDir;

void write_output(const std::string& directory, std::uint64_t i, const engine::model::Output& output) {
    auto log = OutputLog::open(directory);
    ASSERT_TRUE(log.ok()) << log.error().message;
    OutputBatch batch(log->end());
    batch.add(record_number(i), output);
    ASSERT_TRUE(log->append_data(batch.data()).ok());
    ASSERT_TRUE(log->append_index(batch.index()).ok());
}

TEST(OutputLog, FindsTheOutputOfOneTask) {
    const TempDir dir;
    const std::string binary("\0\xFF==> task 3\n", 14);
    write_output(dir.path(), 0, {"first\n", ""});
    write_output(dir.path(), 1, {"", ""});
    write_output(dir.path(), 2, {"no newline", binary});
    const auto third = read_task_output(dir.path(), TaskId(2));
    ASSERT_TRUE(third.ok());
    EXPECT_EQ(third->out, "no newline");
    EXPECT_EQ(third->err, binary);
    EXPECT_EQ(read_task_output(dir.path(), TaskId(0))->out, "first\n");
    EXPECT_EQ(read_task_output(dir.path(), TaskId(1))->attempt, 0u) << "nothing is kept of it";
    EXPECT_FALSE(read_task_output(dir.file("none"), TaskId(0)).ok());
    EXPECT_EQ(read_file(dir.file("output.idx")).size(), 3u * 48u);
}

TEST(OutputLog, TheLastAttemptCounts) {
    const TempDir dir;
    auto log = OutputLog::open(dir.path());
    OutputBatch batch(log->end());
    TaskRecord record = record_number(0);
    batch.add(record, {"one", "trouble"});
    ++record.attempt;
    batch.add(record, {"two", ""});
    ASSERT_TRUE(log->append_data(batch.data()).ok());
    ASSERT_TRUE(log->append_index(batch.index()).ok());
    const auto output = read_task_output(dir.path(), TaskId(0));
    EXPECT_EQ(output->attempt, 2u);
    EXPECT_EQ(output->out, "two");
    EXPECT_EQ(output->err, "");
}

// After a resume of an edited list, two tasks have had the same number.
TEST(OutputLog, TasksOfOneNumberAreToldApartByTheirKeys) {
    const TempDir dir;
    auto log = OutputLog::open(dir.path());
    OutputBatch batch(log->end());
    TaskRecord record = record_number(0);
    const TaskKey earlier = record.key;
    batch.add(record, {"", "an error of the earlier"});
    record.key.value = earlier.value + 1;
    batch.add(record, {"the later", ""});
    ASSERT_TRUE(log->append_data(batch.data()).ok());
    ASSERT_TRUE(log->append_index(batch.index()).ok());
    const auto by_number = read_task_output(dir.path(), TaskId(0));
    EXPECT_EQ(by_number->out, "the later");
    EXPECT_EQ(by_number->err, "");
    const auto by_key = read_task_output(dir.path(), TaskId(7), earlier);
    EXPECT_EQ(by_key->out, "");
    EXPECT_EQ(by_key->err, "an error of the earlier");
    EXPECT_EQ(read_task_output(dir.path(), TaskId(0), TaskKey{record.key.value + 1})->attempt, 0u);
}

// Whatever a crash leaves of the two files: output that is found is right, and later output is found.
TEST(OutputLog, EveryPairOfTornFilesIsHarmless) {
    const TempDir whole;
    for (std::uint64_t i = 0; i < 3; ++i)
        write_output(whole.path(), i, {"output of " + std::to_string(i), ""});
    const std::string data = read_file(whole.file("output.log"));
    const std::string index = read_file(whole.file("output.idx"));
    for (std::size_t data_size = 0; data_size <= data.size(); data_size += 7) {
        for (std::size_t index_size = 0; index_size <= index.size(); index_size += 16) {
            const TempDir torn;
            write_file(torn.file("output.log"), data.substr(0, data_size));
            write_file(torn.file("output.idx"), index.substr(0, index_size));
            write_output(torn.path(), 9, {"later", "err"});
            EXPECT_EQ(read_task_output(torn.path(), TaskId(9))->out, "later");
            EXPECT_EQ(read_task_output(torn.path(), TaskId(9))->err, "err");
            for (std::uint64_t i = 0; i < 3; ++i) {
                const auto output = read_task_output(torn.path(), TaskId(i));
                if (output && output->attempt != 0) {
                    EXPECT_EQ(output->out, "output of " + std::to_string(i));
                }
            }
        }
    }
}

}  // namespace
}  // namespace wq::records::journal
