#include <gmock/gmock.h>
#include <sys/stat.h>

#include "records/hdf5/stats_log.h"
#include "records/journal/append_file.h"
#include "records/journal/joblog.h"
#include "records/journal/records.h"
#include "records/journal/transactions.h"
#include "unit/records/journal/records_testing.h"

namespace wq::records::hdf5 {
namespace {

using journal::testing::record_number;
using journal::testing::sample_number;
using journal::testing::TempDir;
using journal::testing::worker_number;
using test::read_file;
using test::write_file;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Joblog, HasTheColumnsOfGnuParallel) {
    std::string out(journal::joblog_heading);
    journal::put_joblog_line(out, record_number(0), "node1", "echo a\tb");
    journal::put_joblog_line(out, record_number(3), "node1", "two\nlines");
    journal::TaskRecord lost = record_number(7);
    lost.outcome = {};
    lost.outcome.ending = engine::model::Ending::worker_lost;
    journal::put_joblog_line(out, lost, "", "");
    EXPECT_EQ(out,
              "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
              "1\tnode1\t1700000000.000\t0.000\t0\t5\t0\t0\techo a\tb\n"
              "4\tnode1\t1700000000.000\t0.000\t0\t5\t0\t11\ttwo lines\n"
              "8\t-\t0.000\t0.000\t0\t0\t-1\t0\t\n");
}

TEST(Joblog, OfAnEarlierRunIsReadByWholeLines) {
    const TempDir dir;
    const std::string path = dir.file("joblog.tsv");
    std::string text(journal::joblog_heading);
    for (std::uint64_t i = 0; i < 2; ++i) journal::put_joblog_line(text, record_number(i), "n", "c\tc");
    write_file(path, text + "3\ttorn");
    journal::EarlierJoblog earlier(path);
    std::string again(journal::joblog_heading);
    for (std::uint64_t i = 0; i < 2; ++i) journal::put_renumbered_line(again, TaskId(i), earlier.next());
    EXPECT_EQ(again, text);
    EXPECT_EQ(earlier.next(), "");
    std::string renumbered;
    journal::put_renumbered_line(renumbered, journal::not_listed, "17\tn\t0\n");
    journal::put_renumbered_line(renumbered, TaskId(4), "no columns\n");
    EXPECT_EQ(renumbered, "0\tn\t0\n5\n");
    write_file(path, "something else\n");
    EXPECT_EQ(journal::EarlierJoblog(path).next(), "");
    EXPECT_EQ(journal::EarlierJoblog(dir.file("nowhere")).next(), "");
}

TEST(Transactions, FollowTheManual) {
    journal::TransactionStamp stamp(16444);
    EXPECT_THAT(
        std::string(journal::transactions_heading()),
        StartsWith("# time manager_pid MANAGER START|END\n# time manager_pid WORKER worker_id host:port"));
    std::string out;
    journal::put_manager_line(out, 1599244364466426, stamp, journal::ManagerLine::start);
    journal::WorkerRecord worker = worker_number(3);
    journal::put_worker_lines(out, stamp, worker);
    worker.left_us = worker.joined_us + 5;
    worker.why_left = "connection reset";
    worker.departure = journal::Departure::failure;
    journal::put_worker_lines(out, stamp, worker);
    journal::TaskRecord record = record_number(0);
    journal::put_task_lines(out, stamp, record, worker.address);
    record.outcome.ending = engine::model::Ending::out_of_memory;
    record.outcome.signal = 9;
    journal::put_task_lines(out, stamp, record, worker.address);
    record.outcome.ending = engine::model::Ending::worker_lost;
    record.final = false;
    journal::put_task_lines(out, stamp, record, worker.address);  // nothing of it came back: no line
    const std::string measured =
        R"({"cores":[2,"cores"],"wall_time":[0.000900,"s"],"cpu_time":[0.000600,"s"],"memory":[4,"MB"],)"
        R"("bytes_read":[0,"MB"],"bytes_written":[0,"MB"],"wq_input_size":[0.000000,"MB"],)"
        R"("wq_output_size":[0.000000,"MB"],"wq_input_time":[0.000000,"s"],"wq_output_time":[0.000000,"s"])";
    EXPECT_EQ(out,
              "1599244364466426 16444 MANAGER START\n"
              "1700000000000000 16444 WORKER worker-3 node3:rank_3 CONNECTION\n"
              "1700000000000000 16444 WORKER worker-3 RESOURCES "
              R"({"cores":[4,"cores"],"memory":[8000,"MB"],"disk":[50000,"MB"],"gpus":[1,"gpus"]})"
              "\n"
              "1700000000000005 16444 WORKER worker-3 node3:rank_3 DISCONNECTION FAILURE\n"
              "1700000000001000 16444 TASK 1 WAITING_RETRIEVAL node3:rank_3\n"
              "1700000000001000 16444 TASK 1 RETRIEVED SUCCESS 0 {} " +
                  measured +
                  "}\n"
                  "1700000000001000 16444 TASK 1 DONE SUCCESS 0 {} " +
                  measured +
                  "}\n"
                  "1700000000001000 16444 TASK 1 WAITING_RETRIEVAL node3:rank_3\n"
                  "1700000000001000 16444 TASK 1 RETRIEVED RESOURCE_EXHAUSTION 9 "
                  R"({"memory":[512,"MB"]} )" +
                  measured +
                  R"(,"signal":[9,""]})"
                  "\n"
                  "1700000000001000 16444 TASK 1 DONE RESOURCE_EXHAUSTION 9 "
                  R"({"memory":[512,"MB"]} )" +
                  measured +
                  R"(,"signal":[9,""]})"
                  "\n");
    EXPECT_EQ(
        journal::task_waiting_text({1, 2}, "default", {1, 800, 500, 0}),
        R"(TASK 2 WAITING default FIRST_RESOURCES {"cores":[1,"cores"],"memory":[800,"MB"],"disk":[500,"MB"]})");
    EXPECT_EQ(
        journal::task_running_text(TaskId(1), "n:rank 1", {1, 800, 500, 0}),
        R"(TASK 2 RUNNING n:rank_1 FIRST_RESOURCES {"cores":[1,"cores"],"memory":[800,"MB"],"disk":[500,"MB"]})");
}

TEST(Transactions, AnEndForGoodIsRetrievedAlsoWhereNothingCameBack) {
    journal::TransactionStamp stamp(16444);
    journal::TaskRecord record = record_number(0);
    record.outcome.ending = engine::model::Ending::worker_lost;
    std::string out;
    journal::put_task_lines(out, stamp, record, "n:rank 1");
    EXPECT_THAT(out, ::testing::MatchesRegex("[0-9]+ 16444 TASK 1 RETRIEVED MAX_RETRIES -1 [^\n]*\n"
                                             "[0-9]+ 16444 TASK 1 DONE MAX_RETRIES -1 [^\n]*\n"));
}

TEST(Transactions, TimesOfOneMomentAreInOrder) {
    journal::TransactionStamp stamp(1);
    std::string out;
    for (const WallMicros when : {5'000'000, 4'999'990, 5'000'001, 3'000'000, 5'000'000})
        journal::put_manager_line(out, when, stamp, journal::ManagerLine::start);
    EXPECT_EQ(out,
              "5000000 1 MANAGER START\n5000000 1 MANAGER START\n5000001 1 MANAGER START\n"
              "3000000 1 MANAGER START\n5000001 1 MANAGER START\n");
}

TEST(Transactions, SayWhatTheFilesOfATaskWere) {
    journal::TransactionStamp stamp(1);
    journal::TaskRecord record = record_number(0);
    record.files = {3 << 19, 1 << 20, 2'000'000, 1'500'000};
    std::string out;
    journal::put_task_lines(out, stamp, record, "n");
    EXPECT_THAT(out, HasSubstr(R"("wq_input_size":[1.500000,"MB"],"wq_output_size":[1.000000,"MB"],)"
                               R"("wq_input_time":[2.000000,"s"],"wq_output_time":[1.500000,"s"])"));
}

TEST(Transactions, SayHowAWorkerLeft) {
    journal::WorkerRecord worker = worker_number(3);
    worker.left_us = 5;
    for (const auto& [departure, reason] :
         {std::pair(journal::Departure::idle_out, "IDLE_OUT"),
          std::pair(journal::Departure::asked, "EXPLICIT"), std::pair(journal::Departure::failure, "FAILURE"),
          std::pair(journal::Departure::unknown, "UNKNOWN")}) {
        worker.departure = departure;
        std::string out;
        journal::TransactionStamp stamp(1);
        journal::put_worker_lines(out, stamp, worker);
        EXPECT_EQ(out, "5 1 WORKER worker-3 node3:rank_3 DISCONNECTION " + std::string(reason) + "\n");
    }
}

TEST(Transactions, TellOfEachCategory) {
    journal::TransactionStamp stamp(1);
    std::string out;
    journal::put_category_lines(out, 7, stamp, {{}, "my category"});
    EXPECT_EQ(out,
              "7 1 CATEGORY my_category MAX {}\n"
              "7 1 CATEGORY my_category MIN {}\n"
              "7 1 CATEGORY my_category FIRST FIXED {}\n");
    journal::CategoryRecord record{CategoryId(1), "a", engine::model::AllocationMode::max_throughput};
    record.max = {2000, 4096, engine::model::unsaid, engine::model::unsaid};
    record.min.memory_mb = 512;
    record.first = {1500, engine::model::whole_worker, 250, 0};
    out.clear();
    journal::put_category_lines(out, 7, stamp, record);
    EXPECT_EQ(out,
              "7 1 CATEGORY a MAX {\"cores\":[2,\"cores\"],\"memory\":[4096,\"MB\"]}\n"
              "7 1 CATEGORY a MIN {\"memory\":[512,\"MB\"]}\n"
              "7 1 CATEGORY a FIRST MAX_THROUGHPUT "
              "{\"cores\":[1.5,\"cores\"],\"disk\":[250,\"MB\"],\"gpus\":[0,\"gpus\"]}\n");
}

TEST(Transactions, TellWhatWasMeasuredAndWhichLimitsWereExceeded) {
    journal::TransactionStamp stamp(1);
    journal::TaskRecord record = record_number(0);
    record.given = {2, 200, 1000, 0};
    record.outcome.ending = engine::model::Ending::exhausted;
    record.outcome.measured.emplace();
    record.outcome.measured->usage.cores = 1'250;
    record.outcome.measured->usage.memory = 150;
    record.outcome.measured->usage.disk = 1200;
    record.outcome.measured->exceeded.disk_mb = 1000;
    std::string out;
    journal::put_task_lines(out, stamp, record, "n");
    EXPECT_THAT(out,
                HasSubstr(R"(RETRIEVED RESOURCE_EXHAUSTION 9 {"disk":[1000,"MB"]} {"cores":[1.25,"cores"],)"
                          R"("cores_avg":[0.666,"cores"],)"));
    EXPECT_THAT(out, HasSubstr(R"("memory":[150,"MB"],"disk":[1200,"MB"],)"));
    EXPECT_EQ(journal::task_running_text(TaskId(1), "n", {1, 800, 0, 0}, engine::model::Try::at_maximum),
              R"(TASK 2 RUNNING n MAX_RESOURCES {"cores":[1,"cores"],"memory":[800,"MB"],"disk":[0,"MB"]})");
    EXPECT_THAT(journal::task_waiting_text({1, 2}, "a", {1, 800, 0, 0}, engine::model::Try::at_maximum),
                HasSubstr(" WAITING a MAX_RESOURCES {"));
}

// Sums of what workers say.
TEST(Transactions, ARangeThatTookTheMostThatThereIsTellsSo) {
    journal::TransactionStamp stamp(7);
    journal::RangeRecord record;
    record.tasks.insert({3, 5});
    record.user_us = record.system_us = INT64_MAX;
    std::string line;
    journal::put_range_lines(line, stamp, record, "");
    EXPECT_THAT(line, HasSubstr(R"("cpu_time":[9223372036854.775807,"s"])"));
}

TEST(StatsLog, IsReadBackByTheNamesOfItsHeading) {
    const std::string heading = stats_log_heading();
    EXPECT_THAT(heading,
                StartsWith("# timestamp workers_connected workers_init workers_idle workers_busy workers_"));
    EXPECT_THAT(heading, HasSubstr(" tasks_exhausted_attempts time_when_started time_send "));
    std::string text = heading;
    for (std::int64_t i = 0; i < 3; ++i) put_stats_line(text, sample_number(i));
    EXPECT_THAT(
        text,
        HasSubstr("\n1700000001000000 4 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 1700000000000000 0 "));
    EXPECT_THAT(text, HasSubstr(" 1.500000 "));
    const auto rows = read_stats_log(text + "17000", "log");
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(rows->size(), 3u);
    EXPECT_EQ((*rows)[2].timestamp, 1'700'000'002'000'000);
    EXPECT_EQ((*rows)[2].time_when_started, 1'700'000'000'000'000);
    EXPECT_EQ((*rows)[2].tasks_done, 2);
    EXPECT_EQ((*rows)[2].bandwidth, 1.5);
}

TEST(StatsLog, ReadsTheManualsNamesAndUnknownColumns) {
    const auto rows = read_stats_log(
        "# timestamp workers_blacklisted new_column time_workers_execute tasks_done\n1 2 3.5 4 5.000000\n",
        "log");
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    EXPECT_EQ(rows->at(0).workers_blocked, 2);
    EXPECT_EQ(rows->at(0).time_execute, 4);
    EXPECT_EQ(rows->at(0).time_workers_execute, 4);
    EXPECT_EQ(rows->at(0).tasks_done, 5);
}

TEST(StatsLog, RefusesWhatIsNone) {
    EXPECT_THAT(read_stats_log("", "log").error().message, StartsWith("log: no statistics"));
    EXPECT_THAT(read_stats_log("1 2 3\n", "log").error().message, StartsWith("log: no statistics"));
    EXPECT_EQ(read_stats_log("# timestamp tasks_done\n1 2\n3 x\n", "log").error().message,
              "log:3: no number in a row");
    EXPECT_EQ(read_stats_log("# timestamp tasks_done\n1\n", "log").error().message,
              "log:2: a row with fewer columns than the heading");
    EXPECT_FALSE(read_stats_log("# timestamp tasks_done\n1 1e300\n", "log").ok());
    EXPECT_FALSE(read_stats_log("# timestamp tasks_done\n1 nan\n", "log").ok());
    EXPECT_FALSE(read_stats_log("# timestamp tasks_done\n1 99999999999999999999\n", "log").ok());
    EXPECT_FALSE(read_stats_log("# timestamp bandwidth\n1 1e999\n", "log").ok());
}

TEST(TextLog, GoesOnBehindTheLastWholeLine) {
    const TempDir dir;
    write_file(dir.file("log"), "heading\none\ntor");
    auto log = journal::TextLog::open(dir.file("log"), "heading\n");
    ASSERT_TRUE(log.ok());
    log->lines() += "two\n";
    ASSERT_TRUE(log->close().ok());
    EXPECT_EQ(read_file(dir.file("log")), "heading\none\ntwo\n");
    auto fresh = journal::TextLog::open(dir.file("fresh"), "heading\n");
    ASSERT_TRUE(fresh->write().ok());
    EXPECT_EQ(read_file(dir.file("fresh")), "heading\n");
}

TEST(TextLog, LeavesAForeignFileAlone) {
    const TempDir dir;
    for (const char* text : {"no newline at all", "12\tstars\nand a ha", "headin"}) {
        write_file(dir.file("mine"), text);
        const bool ours = std::string_view("heading\n").starts_with(text);
        const auto log = journal::TextLog::open(dir.file("mine"), "heading\n");
        ASSERT_EQ(log.ok(), ours) << text;
        EXPECT_EQ(journal::TextLog::check(dir.file("mine"), "heading\n").ok(), ours || log.ok());
        EXPECT_EQ(read_file(dir.file("mine")), ours ? "" : text);
        if (ours) continue;
        EXPECT_EQ(log.error().code, ExitCode::usage);
        EXPECT_THAT(log.error().message, StartsWith(dir.file("mine") + " is another kind of file"));
    }
}

TEST(TextLog, WaitsForNoPipe) {
    const TempDir dir;
    const std::string pipe = dir.file("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(journal::TextLog::open(pipe, "heading\n").error().message, pipe + " is not a regular file");
    EXPECT_EQ(journal::TextLog::check(pipe, "heading\n").error().code, ExitCode::usage);
    EXPECT_EQ(journal::MappedFile::open(pipe).error().message, pipe + " is not a regular file");
    EXPECT_EQ(journal::AppendFile::open(pipe).error().message, pipe + " is not a regular file");
    EXPECT_EQ(*journal::read_whole(pipe), "");
}

TEST(TextLog, WritesNumbersAsTheyAre) {
    std::string out;
    journal::put_seconds(out, 1'234'567, 6), out += ' ';
    journal::put_seconds(out, -1'500'000, 3);
    EXPECT_EQ(out, "1.234567 -1.500");
}

}  // namespace
}  // namespace wq::records::hdf5
