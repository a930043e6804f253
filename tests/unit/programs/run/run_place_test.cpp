#include "programs/run/run_place.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "records/hdf5/stats_log.h"
#include "records/journal/journal.h"

namespace wq::programs::run {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RunPlaceTest : public ::testing::Test {
  protected:
    RunPlaceTest() {
        std::string pattern = (fs::temp_directory_path() / "wq_place_XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        options_.source.path = file("tasks.sh");
        std::ofstream(file("tasks.sh")) << "true\n";
    }
    ~RunPlaceTest() override { fs::remove_all(folder_); }

    std::string file(const std::string& name) const { return (folder_ / name).string(); }

    // A run of these ends, as its journal says.
    void earlier_run(const std::string& name, const std::vector<records::journal::TaskRecord>& records = {}) {
        fs::create_directories(folder_ / name);
        std::ofstream journal(folder_ / name / "journal", std::ios::binary);
        journal << records::journal::encode_header(
            {1, "id", options_.source.name(), options_.source.fingerprint(), 0});
        for (const records::journal::TaskRecord& record : records)
            journal << records::journal::encode_record(record);
    }
    static records::journal::TaskRecord ended(std::uint64_t key, int exit_code, bool final = true) {
        records::journal::TaskRecord record;
        record.key.value = key;
        record.final = final;
        record.outcome.exit_code = exit_code;
        return record;
    }

    fs::path folder_;
    RunOptions options_;
};

TEST_F(RunPlaceTest, ANewRunIsBesideItsList) {
    EXPECT_EQ(choose_run_directory(options_, ""), file("tasks.sh.wq"));
    EXPECT_EQ(choose_run_directory(options_, "17"), file("tasks.sh.wq-17"));
    options_.run_directory = "elsewhere";
    EXPECT_EQ(choose_run_directory(options_, "17"), "elsewhere");
    RunOptions array;
    array.source.kind = manager::run::SourceSpec::Kind::array;
    EXPECT_EQ(choose_run_directory(array, ""), "array.wq");
    RunOptions stream;
    stream.source.path = "-";
    EXPECT_EQ(choose_run_directory(stream, ""), "stdin.wq");
}

TEST_F(RunPlaceTest, EachRunOfStandardInputIsANewOne) {
    fs::current_path(folder_);
    options_.source.path = "-";
    earlier_run("stdin.wq");
    EXPECT_EQ(choose_run_directory(options_, ""), "stdin.wq-2");
    fs::create_directory(file("stdin.wq-2"));
    EXPECT_EQ(choose_run_directory(options_, ""), "stdin.wq-3");
    EXPECT_EQ(choose_run_directory(options_, "17"), "stdin.wq-17");
    earlier_run("stdin.wq-3");
    fs::last_write_time("stdin.wq/journal", fs::file_time_type::clock::now() - std::chrono::hours(1));
    options_.resume = true;
    EXPECT_EQ(choose_run_directory(options_, ""), "stdin.wq-3") << "the newest";
}

TEST_F(RunPlaceTest, ResumeTakesTheNewestRunOfTheList) {
    options_.resume = true;
    EXPECT_EQ(choose_run_directory(options_, "18"), file("tasks.sh.wq-18")) << "none there: a new one";
    earlier_run("tasks.sh.wq");
    earlier_run("tasks.sh.wq-17");
    earlier_run("tasks.sh.wq2");                         // another list's
    fs::create_directories(folder_ / "tasks.sh.wq-99");  // of a run that never began
    fs::last_write_time(folder_ / "tasks.sh.wq" / "journal",
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
    EXPECT_EQ(choose_run_directory(options_, "18"), file("tasks.sh.wq-17"));
    EXPECT_EQ(choose_run_directory(options_, ""), file("tasks.sh.wq")) << "its own, where it is there";
}

TEST_F(RunPlaceTest, TheEndsOfAnEarlierRunAreRead) {
    earlier_run("tasks.sh.wq",
                {ended(1, 0), ended(2, 1), ended(3, 1, false), ended(4, 1), ended(4, 0), ended(5, 0)});
    options_.resume = true;
    const auto place = take_run_place(options_, file("tasks.sh.wq"));
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_TRUE(place->resumed);
    using End = manager::run::EarlierRun::End;
    EXPECT_EQ(place->earlier.ends, (std::unordered_map<std::uint64_t, End>{
                                       {1, End::done}, {2, End::failed}, {4, End::done}, {5, End::done}}));
    EXPECT_EQ(place->earlier.attempts, (std::unordered_map<std::uint64_t, Attempt>{{3, 1}}))
        << "of what runs again";
}

TEST_F(RunPlaceTest, ResumeFailedForgetsTheFailed) {
    earlier_run("tasks.sh.wq", {ended(1, 0), ended(2, 1)});
    options_.resume = options_.resume_failed = true;
    const auto place = take_run_place(options_, file("tasks.sh.wq"));
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_EQ(place->earlier.ends.size(), 1u);
    EXPECT_TRUE(place->earlier.ends.contains(1));
    EXPECT_EQ(place->earlier.attempts, (std::unordered_map<std::uint64_t, Attempt>{{2, 1}}));
}

TEST_F(RunPlaceTest, TheRunOfSomethingElseIsRefused) {
    earlier_run("tasks.sh.wq");
    options_.resume = true;
    options_.source.path = file("other.sh");
    const auto place = take_run_place(options_, file("tasks.sh.wq"));
    ASSERT_FALSE(place);
    EXPECT_EQ(place.error().code, ExitCode::bad_input);
    EXPECT_THAT(place.error().message,
                HasSubstr("holds the run of " + file("tasks.sh") + ", not of " + file("other.sh")));
}

TEST_F(RunPlaceTest, AnotherCommandOfEqualNameIsTold) {
    options_.source.kind = manager::run::SourceSpec::Kind::array;
    options_.source.indexes = "1-9:2";
    options_.source.command = {"old", "{}"};
    earlier_run("array.wq");
    options_.resume = true;
    options_.source.command = {"new", "{}"};
    const auto place = take_run_place(options_, file("array.wq"));
    ASSERT_FALSE(place);
    EXPECT_THAT(place.error().message,
                HasSubstr("holds the run of --array 1-9:2 with another command, not with 'new {}'"));
}

TEST_F(RunPlaceTest, NothingIsKeptBesideADevice) {
    options_.source.path = "/dev/null";
    EXPECT_EQ(choose_run_directory(options_, ""), "null.wq");
    options_.source.path = "/dev/stdin";
    EXPECT_EQ(choose_run_directory(options_, ""), "stdin.wq");
}

TEST_F(RunPlaceTest, AStatisticsLogThatCannotBeWrittenIsRefusedAtOnce) {
    EXPECT_TRUE(check_stats_log(""));
    EXPECT_TRUE(check_stats_log(file("new.log")));
    EXPECT_FALSE(fs::exists(file("new.log")));
    EXPECT_EQ(check_stats_log(file("tasks.sh")).error().code, ExitCode::usage) << "it is another file";
    std::ofstream(file("earlier.log")) << records::hdf5::stats_log_heading() << "1 2 torn";
    EXPECT_TRUE(check_stats_log(file("earlier.log"))) << "it is appended to";
    EXPECT_EQ(check_stats_log(folder_.string()).error().code, ExitCode::usage);
    const Status nowhere = check_stats_log(file("no/such.log"));
    EXPECT_EQ(nowhere.error().code, ExitCode::usage);
    EXPECT_THAT(nowhere.error().message, HasSubstr("cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace wq::programs::run
