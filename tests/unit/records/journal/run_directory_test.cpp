#include "records/journal/run_directory.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "records/journal/run_status.h"
#include "unit/records/journal/records_testing.h"

namespace wq::records::journal {
namespace {

using test::read_file;
using test::write_file;
using ::testing::HasSubstr;
using testing::TempDir;
using Use = RunDirectory::Use;

TEST(RunDirectory, IsMadeOnceAndResumedWhenItHasAJournal) {
    const TempDir dir;
    const std::string path = dir.file("list.wq");
    EXPECT_EQ(RunDirectory::take(path, Use::resume).error().message,
              "nothing to resume: no run directory " + path);
    {
        const auto taken = RunDirectory::take(path, Use::fresh);
        ASSERT_TRUE(taken.ok()) << taken.error().message;
        EXPECT_FALSE(taken->has_journal());
        write_file(taken->file("journal"), "x");
    }
    const auto again = RunDirectory::take(path, Use::fresh);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code, ExitCode::usage);
    EXPECT_THAT(again.error().message, HasSubstr("exists: use --resume"));
    EXPECT_TRUE(RunDirectory::take(path, Use::resume)->has_journal());
    EXPECT_TRUE(RunDirectory::take(path, Use::resume_or_fresh)->has_journal());
}

TEST(RunEnd, IsReadBesideTheContactFileAlsoIfThatIsNamedWithoutItsFolder) {
    const TempDir dir;
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(dir.path());
    EXPECT_EQ(end_of_run("contact"), RunEnd::no);
    RunStatus status;
    for (const auto& [state, end] :
         {std::pair{"running", RunEnd::no}, {"interrupted", RunEnd::resumable}, {"failed", RunEnd::over}}) {
        status.state = state;
        EXPECT_TRUE(write_status(dir.path(), status).ok());
        EXPECT_EQ(end_of_run("contact"), end) << state;
        EXPECT_EQ(end_of_run(dir.file("contact")), end) << state;
    }
    write_file("contact", "x");
    EXPECT_EQ(end_of_run("contact"), RunEnd::no);
    std::filesystem::current_path(before);
}

TEST(RunDirectory, OfSomethingElseIsLeftAlone) {
    const TempDir dir;
    write_file(dir.file("thesis.tex"), "x");
    for (const Use use : {Use::fresh, Use::resume, Use::resume_or_fresh}) {
        EXPECT_EQ(RunDirectory::take(dir.path(), use).error().code, ExitCode::usage);
    }
    EXPECT_EQ(read_file(dir.file("thesis.tex")), "x");
    EXPECT_NE(::access(dir.file("lock").c_str(), F_OK), 0);
    EXPECT_THAT(RunDirectory::take(dir.file("thesis.tex"), Use::fresh).error().message,
                HasSubstr("Not a directory"));
    EXPECT_THAT(RunDirectory::take("/proc/nowhere", Use::fresh).error().message, HasSubstr("choose another"));
}

TEST(RunDirectory, OfARunKilledAtAnyMomentIsTakenAgain) {
    const TempDir dir;
    const std::string path = dir.file("list.wq");
    for (const char* left : {"lock", "journal.part", "status.part", "list.part"}) {
        const auto taken = RunDirectory::take(path, Use::resume_or_fresh);
        ASSERT_TRUE(taken.ok()) << taken.error().message << " after " << left;
        if (left != std::string("lock")) write_file(dir.file("list.wq/" + std::string(left)), "x");
    }
    EXPECT_TRUE(RunDirectory::take(path, Use::fresh).ok());
}

TEST(RunDirectory, ThatMayNotBeWrittenSaysSo) {
    const TempDir dir;
    const auto read_only = std::filesystem::perms(0555);
    std::filesystem::permissions(dir.path(), read_only);
    const pid_t child = ::fork();
    if (child == 0) {
        // root may write everywhere, "nobody" may not
        if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
        const auto taken = RunDirectory::take(dir.file("list.wq"), Use::fresh);
        ::_exit(!taken && taken.error().code == ExitCode::not_allowed ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    std::filesystem::permissions(dir.path(), std::filesystem::perms::owner_all);
}

TEST(RunDirectory, InUseNamesItsHolder) {
    const TempDir dir;
    const std::string path = dir.file("list.wq");
    int ready[2];
    int done[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(done), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(done[1]);
        const auto held = RunDirectory::take(path, Use::fresh);
        char byte = held.ok() ? 'y' : 'n';
        if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
        const bool ended = ::read(done[0], &byte, 1) == 0;
        ::_exit(ended ? 0 : 1);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ASSERT_EQ(byte, 'y');
    const auto taken = RunDirectory::take(path, Use::resume_or_fresh);
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().code, ExitCode::interrupted);
    EXPECT_THAT(taken.error().message,
                HasSubstr("in use by the run with pid " + std::to_string(child) + " on " + host_name()));
    for (const int fd : {done[0], done[1], ready[0], ready[1]}) ::close(fd);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(RunDirectory::take(path, Use::fresh).ok());  // a lock ends with its process
}

TEST(RunStatus, ComesBackAndCanBeSourced) {
    const TempDir dir;
    EXPECT_FALSE(read_status(dir.path()).ok());
    RunStatus written;
    written.state = "interrupted";
    written.exit_code = 75;
    written.started_us = 1'700'000'000'000'000;
    written.ended_us = 1'700'000'060'000'000;
    written.tasks.tasks_submitted = 12;
    written.tasks.tasks_done = 10;
    written.total_known = false;
    written.tasks_per_second = 2.5;
    written.message = "it's SIGTERM";
    ASSERT_TRUE(write_status(dir.path(), written).ok());
    const auto read = read_status(dir.path());
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->state, "interrupted");
    EXPECT_EQ(read->exit_code, 75);
    EXPECT_EQ(read->ended_us, 1'700'000'060'000'000);
    EXPECT_EQ(read->tasks.tasks_submitted, 12);
    EXPECT_EQ(read->tasks.tasks_done, 10);
    EXPECT_FALSE(read->total_known);
    EXPECT_EQ(read->tasks_per_second, 2.5);
    EXPECT_GT(read->written_us, written.ended_us);
    EXPECT_EQ(read->message, "it's SIGTERM");
    EXPECT_THAT(read_file(dir.file("status")), HasSubstr("started=2023-11-14T22:13:20Z\n"));
    const std::string command = ". " + dir.file("status") + " && test \"$message\" = \"it's SIGTERM\"";
    EXPECT_EQ(std::system(command.c_str()), 0);
    RunStatus running = written;
    running.exit_code.reset();
    ASSERT_TRUE(write_status(dir.path(), running).ok());
    EXPECT_EQ(read_status(dir.path())->exit_code, std::nullopt);
}

TEST(RunListCopy, ReplacesTheEarlierOnlyWhenWhole) {
    const TempDir dir;
    write_file(dir.file("list"), "old\n");
    auto copy = RunListCopy::begin(dir.path());
    ASSERT_TRUE(copy.ok());
    ASSERT_TRUE(copy->append("new ").ok());
    EXPECT_EQ(read_file(dir.file("list")), "old\n");
    ASSERT_TRUE(copy->append("list\n").ok());
    ASSERT_TRUE(copy->finish().ok());
    EXPECT_EQ(read_file(dir.file("list")), "new list\n");
    EXPECT_FALSE(std::filesystem::exists(dir.file("list.part")));
}

}  // namespace
}  // namespace wq::records::journal
