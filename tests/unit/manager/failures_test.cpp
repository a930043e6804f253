#include "manager/failures.h"

#include <gtest/gtest.h>

namespace wq::manager {
namespace {

FailureExample failure(std::uint64_t task, int exit_code, const std::string& words) {
    FailureExample example;
    example.task = TaskId(task);
    example.line = task + 1;
    example.outcome.exit_code = exit_code;
    example.stderr_tail = words;
    return example;
}

TEST(Failures, CountsEnvironmentLinesByTheirText) {
    Failures failures;
    failures.add_environment({"cd x #!", 1, "cd: x: No such file or directory"});
    failures.add_environment({"module load blast #!", 127, "module: command not found"});
    failures.add_environment({"cd x #!", 1, "cd: x: No such file or directory"});
    ASSERT_EQ(failures.environment().size(), 2u);
    EXPECT_EQ(failures.environment()[0].workers, 2u);
    EXPECT_EQ(failures.environment()[1].exit_code, 127);
}

TEST(Failures, NamesEachKindOnceWithItsFirstExample) {
    Failures failures;
    failures.add(failure(3, 1, "file 17 is missing"));
    failures.add(failure(4, 1, "file 4711 is missing"));
    failures.add(failure(5, 2, "file 17 is missing"));
    failures.add(failure(6, 1, "no such host"));
    FailureExample killed = failure(7, 1, "file 17 is missing");
    killed.outcome.ending = engine::model::Ending::signalled;
    killed.outcome.signal = 11;
    failures.add(killed);
    ASSERT_EQ(failures.kinds().size(), 4u);
    EXPECT_EQ(failures.kinds()[0].count, 2u);
    EXPECT_EQ(failures.kinds()[0].task, TaskId(3));
    EXPECT_EQ(failures.kinds()[3].outcome.signal, 11);
}

TEST(Failures, OfThoseThatTookTooMuchEachCategoryAndResourceIsAKind) {
    Failures failures;
    const auto exhausts = [&](const std::string& category, const engine::model::Sizes& limits) {
        FailureExample example = failure(1, 0, "");
        example.outcome.ending = engine::model::Ending::exhausted;
        example.outcome.measured.emplace().exceeded = limits;
        example.category = category;
        failures.add(example);
    };
    exhausts("align", {.disk_mb = 200});
    exhausts("align", {.cores = 1000});
    exhausts("merge", {.disk_mb = 200});
    exhausts("align", {.disk_mb = 201});
    ASSERT_EQ(failures.kinds().size(), 3u);
    EXPECT_EQ(failures.kinds()[0].count, 2u);
}

TEST(Failures, CountsTheRestWhenThereAreTooManyKinds) {
    Failures failures;
    for (std::uint64_t n = 0; n < 100; ++n) failures.add(failure(n, static_cast<int>(n), ""));
    failures.add(failure(101, 3, ""));
    EXPECT_EQ(failures.kinds().size(), Failures::most_kinds);
    EXPECT_EQ(failures.of_other_kinds(), 100 - Failures::most_kinds);
    EXPECT_EQ(failures.kinds()[3].count, 2u);
}

TEST(Failures, GathersSkippedTasksByTheirReason) {
    Failures failures;
    failures.skip({"needs 99 cores", "", 2, 7, TaskId(6)});
    failures.skip({"needs 99 cores", "", 3, 9, TaskId(8)});
    failures.skip({"line 1 failed", "", 1, 2, TaskId(1)});
    ASSERT_EQ(failures.skipped().size(), 2u);
    EXPECT_EQ(failures.skipped()[0].count, 5u);
    EXPECT_EQ(failures.skipped()[0].first_line, 7u);
    IntervalSet both;
    both.insert({20, 22});
    failures.skip({"line 1 failed", "", 2, 21, TaskId(20), both});
    EXPECT_EQ(failures.why_skipped(TaskId(21)), "line 1 failed") << "not only of the first example";
    EXPECT_EQ(failures.why_skipped(TaskId(22)), std::nullopt);
}

TEST(PlaceOf, NamesTheLineWhereItDiffersFromTheTask) {
    EXPECT_EQ(place_of(TaskId(180), 182), "task 181 (line 182)");
    EXPECT_EQ(place_of(TaskId(180), 181), "task 181");
    EXPECT_EQ(place_of(TaskId(180), 0), "task 181");
}

TEST(LastLines, AreTheLastOnesAndNotTooLong) {
    EXPECT_EQ(last_lines("", 5), "");
    EXPECT_EQ(last_lines("\n\n", 5), "");
    EXPECT_EQ(last_lines("a", 5), "a");
    EXPECT_EQ(last_lines("a\nb\nc\n", 2), "b\nc");
    EXPECT_EQ(last_lines("a\nb\nc\r\n\n", 5), "a\nb\nc");
    EXPECT_EQ(last_lines("first\n" + std::string(1000, 'x'), 1), std::string(200, 'x'));
    EXPECT_EQ(last_lines("a\n\nb", 2), "\nb") << "an empty line counts";
}

TEST(LinesOfCause, AreTheLastOnesButOfMpirunAlsoTheFirst) {
    EXPECT_EQ(lines_of_cause("a\nb\nc\nd\ne\nf\n"), "b\nc\nd\ne\nf");
    const std::string ruler(74, '-');
    EXPECT_EQ(lines_of_cause(
                  "cannot open a.in\n" + ruler +
                  "\nPrimary job  terminated normally, but 1 process returned\n"
                  "a non-zero exit code.\n" +
                  ruler + "\n" + ruler +
                  "\nmpirun detected that one or more processes exited with non-zero status, thus causing\n"
                  "the job to be terminated. The first process to do so was:\n\n"
                  "  Process name: [[1,1],0]\n  Exit code:    3\n" +
                  ruler + "\n"),
              "cannot open a.in\nPrimary job  terminated normally, but 1 process returned\na non-zero exit "
              "code.\n...\n"
              "  Process name: [[1,1],0]\n  Exit code:    3");
    EXPECT_EQ(lines_of_cause(ruler + "\nThere are not enough slots.\n" + ruler + "\n"),
              "There are not enough slots.");
}

}  // namespace
}  // namespace wq::manager
