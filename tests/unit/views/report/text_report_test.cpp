#include "views/report/text_report.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/text.h"
#include "support/golden_file.h"
#include "unit/views/report/sample_run.h"
#include "views/report/advice.h"
#include "views/report/comparison.h"

namespace wq::views::report {
namespace {

using model::AccountLine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class TextReport : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        ::setenv("TZ", "UTC", 1);
        ::tzset();
    }
};

// At most so many lines, none too wide, and nothing that controls a terminal.
void expect_fits(const std::string& text, std::size_t most) {
    EXPECT_LE(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), most) << text;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view line = next_line(rest);
        EXPECT_LE(line.size(), most_columns) << line;
        EXPECT_FALSE(line.ends_with(' ')) << "'" << line << "'";
        for (const char c : line) EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ' && c != 0x7f) << line;
    }
    EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b")));
}

TEST_F(TextReport, IsGolden) {
    const std::string text = text_report(test::sample());
    expect_fits(text, most_lines);
    wq::test::expect_golden("report/text.txt", text);
}

// More than there is room for, of everything, with hostile names.
ReportedRun crowded() {
    model::RunView run = test::sample_view();
    run.title = run.host = run.path = test::hostile;
    run.categories.clear();
    run.attempts.clear();
    for (std::uint32_t n = 0; n < 50; ++n) {
        run.categories.push_back({test::hostile + std::string(n, 'x')});
        run.workers.push_back(test::worker(n, test::hostile + std::to_string(n), 4));
        for (int attempts = 0; attempts < 20; ++attempts) {
            run.attempts.push_back(test::attempt(1'000'000'000 + n, n, n, n, 50 + n * n));
            run.attempts.back().cores = 4000;
            run.attempts.back().memory_mb = 1 << 30;
            run.attempts.back().memory_peak_mb = 1;
        }
        run.attempts.push_back(test::failed(test::attempt(n, n, n, n, 1), engine::model::Ending::exited,
                                            static_cast<int>(n) + 1));
    }
    for (int n = 0; n < 9; ++n)
        run.lacks.push_back("files of tasks " + test::hostile + " need a later version, which records them");
    model::Account account;
    for (model::CoreTime& line : account.lines) account.offered += line = 3'600'000'000'000'000;
    account.above_allocation = 1'000'000'000'000'000'000;
    return test::reported(std::move(run), account,
                          [](const model::RunAttempt&) { return test::hostile + std::string(3000, 'e'); });
}

TEST_F(TextReport, FitsWhateverHappened) {
    const std::string text = text_report(crowded());
    expect_fits(text, most_lines);
    EXPECT_THAT(text, HasSubstr("\\x1b[2J"));
    EXPECT_THAT(text, HasSubstr("Categories (4 of 50)"));
    EXPECT_THAT(text, HasSubstr("Failures (3 of 50)"));
    EXPECT_THAT(text, HasSubstr("further lines"));
    EXPECT_THAT(text, HasSubstr("Advice"));
    EXPECT_THAT(text, HasSubstr("Missing: "));
}

TEST_F(TextReport, SaysThatNothingHasRun) {
    model::RunView run;
    run.title = "tasks.sh";
    const std::string text = text_report(test::reported(run));
    expect_fits(text, most_lines);
    EXPECT_THAT(text, StartsWith("tasks.sh: 0 tasks succeeded, 0 failed"));
    EXPECT_THAT(text, HasSubstr("Nothing has run yet."));
}

TEST_F(TextReport, TakesAnAttemptOfNoTime) {
    model::RunView run;
    run.begin = run.end = test::begin;
    run.attempts = {test::attempt(1, model::no_place, model::no_place, 0, 0)};
    const std::string text = text_report(test::reported(run));
    expect_fits(text, most_lines);
    EXPECT_THAT(text, HasSubstr("1 task succeeded, 0 failed"));
    EXPECT_THAT(text, HasSubstr("the workers' cores are not recorded"));
    EXPECT_THAT(text, HasSubstr("0.00s  task 1 (line 3) of - on -"));
}

TEST_F(TextReport, CountsWhatIsLeftOfALiveRun) {
    model::RunView run = test::sample_view();
    run.is_live = true;
    model::RunSample sample{run.end, {}};
    sample.stats.tasks_waiting = 1170;
    run.samples = {sample};
    const std::string text = text_report(test::reported(run));
    EXPECT_THAT(text, HasSubstr("1,170 left"));
    EXPECT_THAT(text, HasSubstr("still running"));
}

TEST_F(TextReport, LinesOfTheAccountThatAreNotShownAreOneRow) {
    model::Account account;
    for (std::size_t n = 0; n < account.lines.size(); ++n)
        account.offered += account.lines[n] = static_cast<model::CoreTime>(n) * 1'000'000'000;
    const std::string text = text_report(test::reported(test::sample_view(), account));
    EXPECT_THAT(text, HasSubstr("19 further lines")) << "of 26 that are not 0, 7 are shown";
    EXPECT_THAT(text, HasSubstr("unknown                                26.00    7.4 %"));
}

TEST(ReportGuide, HasEachLineOfTheAccount) {
    const std::string page = wq::test::read_file((wq::test::source_dir() / "share/doc/reports.md").string());
    for (std::size_t n = 0; n < model::account_line_count; ++n) {
        const auto line = static_cast<AccountLine>(n);
        EXPECT_THAT(page,
                    HasSubstr(std::string("\n| ") + title_of(line) + " | " + meaning_of(line) + " |\n"));
    }
}

TEST_F(TextReport, ComparisonIsGolden) {
    model::RunView run = test::sample_view();
    run.sessions = {{run.begin, run.begin + 40 * test::second}};
    run.end = run.sessions.front().end;
    run.categories[1].name = "join";
    model::Account account = test::sample_account();
    account.offered -= account.at(AccountLine::tail);
    account.at(AccountLine::tail) = 0;
    const std::string text = comparison_text(test::sample(), test::reported(run, account));
    expect_fits(text, SIZE_MAX);
    wq::test::expect_golden("report/comparison.txt", text);
    expect_fits(comparison_text(crowded(), crowded()), SIZE_MAX);
    expect_fits(comparison_text(test::reported({}), test::reported({})), SIZE_MAX);
}

TEST(Advice, IsAboutTheMostCoreTime) {
    const auto advice = advice_of(test::sample());
    ASSERT_THAT(advice, SizeIs(3));
    EXPECT_THAT(advice[0], StartsWith("59 % of the core time was free while the last tasks ran (tail)"));
    EXPECT_THAT(advice[0], HasSubstr("such as task 6 (30s)"));
    EXPECT_EQ(
        advice[1],
        "16 % of the core time was allocated to tasks that did not use it: find what they wait for, or ask "
        "for less than a core (cores=0.5).");
    EXPECT_EQ(
        advice[2],
        "align got 8.0 GiB memory and used at most 1.0 GiB: ask for memory=1280M, and more tasks fit on a "
        "worker.");
}

TEST(Advice, MemoryThatIsNotShortIsNoSubject) {
    ReportedRun run = test::sample();
    for (model::RunWorker& worker : run.run.workers) worker.memory_mb = 1 << 20;
    for (const std::string& each : advice_of(run)) EXPECT_THAT(each, Not(HasSubstr("GiB memory")));
}

TEST(Advice, NamesIdleCores) {
    model::RunView run = test::sample_view();
    run.attempts.clear();
    for (std::uint64_t task = 1; task <= 4; ++task) {
        run.attempts.push_back(test::attempt(task, 0, 0, 0, 20));
        run.attempts.back().cores = 4000;
        run.attempts.back().cpu_us = 20 * test::second;
    }
    model::Account account;
    account.offered = 320'000'000'000;
    account.at(AccountLine::useful) = 80'000'000'000;
    account.at(AccountLine::idle_in_tasks) = 240'000'000'000;
    EXPECT_THAT(advice_of(test::reported(run, account)),
                ElementsAre("align got 4 cores and kept 1 busy (95 % of its attempts at most 1): ask for "
                            "cores=1, and more tasks run at once."));
}

TEST(Advice, NothingToSaveIsNoAdvice) {
    model::RunView run = test::sample_view();
    run.attempts = {test::attempt(1, 0, 0, 0, 10)};
    model::Account account;
    account.offered = account.at(AccountLine::useful) = 800'000'000'000;
    EXPECT_THAT(advice_of(test::reported(run, account)), IsEmpty());
}

TEST(Advice, RunOfLessThanACoreMinuteGetsNone) {
    model::Account account;
    account.offered = account.at(AccountLine::tail) = 59'000'000'000;
    EXPECT_THAT(advice_of(test::reported({}, account)), IsEmpty());
    account.offered = account.at(AccountLine::tail) = 60'000'000'000;
    EXPECT_THAT(advice_of(test::reported({}, account)), SizeIs(1));
}

TEST(Missing, TellsHowManyHaveNoRoom) {
    EXPECT_THAT(missing_lines("Missing: ", {}), IsEmpty());
    EXPECT_THAT(missing_lines("Missing: ", {"a", "b"}), ElementsAre("Missing: a; b"));
    const std::string long_one(70, 'x');
    EXPECT_THAT(missing_lines("Missing: ", {long_one, long_one, long_one}),
                ElementsAre("Missing: " + long_one + ";", "  " + long_one + " (and 1 more: --json)"));
}

TEST(Advice, EachLineOfTheAccountHasItsSentence) {
    for (std::size_t n = 0; n < model::account_line_count; ++n) {
        const auto line = static_cast<AccountLine>(n);
        model::Account account;
        account.offered = account.lines[n] = 800'000'000'000;
        const auto advice = advice_of(test::reported({}, account));
        const bool has_none = line == AccountLine::useful || line == AccountLine::unknown ||
                              line == AccountLine::running || line == AccountLine::manager;
        ASSERT_THAT(advice, SizeIs(has_none ? 0 : 1)) << n;
        if (!has_none) {
            EXPECT_THAT(advice[0], StartsWith("100 % of the core time "));
            EXPECT_LE(advice[0].size(), 190U);
        }
    }
}

}  // namespace
}  // namespace wq::views::report
