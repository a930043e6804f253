#include "views/terminal/watch.h"

#include <gmock/gmock.h>

#include "unit/views/terminal/hand_made_run.h"

namespace wq::views::terminal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string row_of(const std::string& text, int row) {
    std::string_view rest = text;
    for (int n = 0; n < row; ++n) rest.remove_prefix(rest.find('\n') + 1);
    return std::string(rest.substr(0, rest.find('\n')));
}

// The first row of a page's table.
std::string first_row(Watch& watch) {
    return row_of(text_of(watch), 4);
}

TEST(Watching, KeysTurnPages) {
    Watch watch = hand_made_watch();
    press(watch, "3");
    EXPECT_EQ(watch.state().page, Page::tasks);
    press(watch, "\t");
    EXPECT_EQ(watch.state().page, Page::failures);
    watch.apply({Key::Kind::left}, {80, 24});
    EXPECT_EQ(watch.state().page, Page::tasks);
    press(watch, "1");
    watch.apply({Key::Kind::left}, {80, 24});
    EXPECT_EQ(watch.state().page, Page::account);
    press(watch, "79x");
    EXPECT_EQ(watch.state().page, Page::account);
}

TEST(Watching, QuitsAndWritesByTheCaller) {
    Watch watch = hand_made_watch();
    EXPECT_EQ(press(watch, "q"), WatchState::Act::quit);
    EXPECT_EQ(press(watch, "3w"), WatchState::Act::write);
    EXPECT_EQ(press(watch,
                    "\r"
                    "w"),
              WatchState::Act::none);  // a task is no table
}

TEST(Watching, StatesOfTasksAreChosen) {
    Watch watch = hand_made_watch();
    press(watch, "3s");
    EXPECT_THAT(first_row(watch), HasSubstr("12  running"));
    press(watch, "s");
    EXPECT_THAT(first_row(watch), HasSubstr("11  retried"));
    press(watch, "s");
    EXPECT_THAT(first_row(watch), HasSubstr(" 9  failed"));
    press(watch, "s");
    EXPECT_THAT(first_row(watch), HasSubstr(" 1  succeeded"));
    press(watch, "ss\x1b");
    EXPECT_FALSE(watch.state().task_state);
}

TEST(Watching, WordsChooseRows) {
    Watch watch = hand_made_watch();
    press(watch, "3/merge");
    EXPECT_THAT(text_of(watch), HasSubstr("/merge_"));
    EXPECT_THAT(first_row(watch), HasSubstr("10  failed"));
    press(watch, "\r");
    press(watch, "/ OUT\r");  // more of the same line
    EXPECT_EQ(watch.state().words(), "merge OUT");
    EXPECT_THAT(first_row(watch), HasSubstr("11  retried"));
    press(watch, "/\b\b\b\bq\x1b");  // what was typed is forgotten
    EXPECT_EQ(watch.state().words(), "merge OUT");
    press(watch, "\x1b");
    EXPECT_EQ(watch.state().words(), "");
    press(watch, "/host=node2 category=align state=succ\r");
    EXPECT_THAT(first_row(watch), HasSubstr(" 1  succeeded"));
    press(watch, "\x1b/category=node2\r");
    EXPECT_THAT(text_of(watch), HasSubstr("no task is like that"));
    press(watch, "\x1b/exit 3\r");
    EXPECT_THAT(first_row(watch), HasSubstr(" 9  failed"));
}

TEST(Watching, AHostIsChosenByItsWholeName) {
    model::RunView run = hand_made_run();
    run.workers.push_back(worker(4, "node10", 4, 4));
    for (model::RunAttempt& one : run.attempts)
        if (one.task == 1) one.worker = 3;
    Watch watch(picture_of(run));
    press(watch, "2/host=node1\r");
    EXPECT_THAT(text_of(watch), HasSubstr("node1:"));
    EXPECT_THAT(text_of(watch), Not(HasSubstr("node10")));
    press(watch, "3/host=NODE10\r");
    EXPECT_THAT(first_row(watch), HasSubstr(" 1  succeeded"));
    press(watch, "\x1b/host=node1\r");
    EXPECT_THAT(first_row(watch), HasSubstr(" 2  succeeded"));
    press(watch, "\x1b/node1\r");
    EXPECT_THAT(first_row(watch), HasSubstr(" 1  succeeded")) << "other words may be parts of names";
}

TEST(Watching, TimesOfALostAttemptAreNotRecorded) {
    model::RunView run = hand_made_run();
    for (model::RunAttempt& one : run.attempts)
        if (one.task == 10) {
            one.ending = engine::model::Ending::worker_lost;
            one.wall_us = one.cpu_us = model::not_recorded;
        }
    Watch watch(picture_of(run));
    press(watch, "3/lost\r");
    EXPECT_THAT(text_of(watch), Not(HasSubstr("-0.00s")));
    EXPECT_THAT(first_row(watch), HasSubstr("       -  worker lost"));
    press(watch, "\r");
    EXPECT_THAT(text_of(watch), HasSubstr("processor   -;"));
    press(watch, "\x1b\x1boooooo");  // by time: what is not known is not the shortest
    EXPECT_THAT(first_row(watch), Not(HasSubstr("lost")));
    press(watch, "r");
    EXPECT_THAT(first_row(watch), Not(HasSubstr("lost")));
}

TEST(Watching, TypedCharactersAreUtf8) {
    Watch watch = hand_made_watch();
    press(watch, "2/");
    for (const char32_t key : {U'é', U'日', U'😀'}) watch.apply(Key::of(key), {80, 24});
    EXPECT_EQ(watch.state().words(), "é日😀");
    press(watch, "\b\b");
    EXPECT_EQ(watch.state().words(), "é");
}

TEST(Watching, TablesAreSorted) {
    Watch watch = hand_made_watch();
    press(watch, "3r");
    EXPECT_THAT(first_row(watch), HasSubstr("14  running"));
    press(watch,
          "r"
          "oo");
    EXPECT_EQ(watch.state().table().sort_column, 2u);
    press(watch, "r");  // most attempts first
    EXPECT_THAT(first_row(watch), HasSubstr(" 9  failed"));
    press(watch, "2r");
    EXPECT_THAT(first_row(watch), HasSubstr("node2"));
}

TEST(Watching, EnterOpensWhatIsSelected) {
    Watch watch = hand_made_watch();
    press(watch, "3\v\v\r");
    EXPECT_EQ(watch.state().opened, 3u);
    EXPECT_THAT(text_of(watch), HasSubstr("Task 3: succeeded, line 4 of the list"));
    press(watch, "\x1b");
    EXPECT_FALSE(watch.state().opened);
    EXPECT_EQ(watch.state().table().selected, 2u);
    press(watch, "4\r");
    EXPECT_EQ(watch.state().opened, 9u);
    press(watch, "2\r");
    EXPECT_EQ(watch.state().page, Page::tasks);
    EXPECT_EQ(watch.state().words(), "host=node1");
}

TEST(Watching, TheRunGoesBackInTime) {
    Watch watch = hand_made_watch();
    for (int n = 0; n < 50; ++n) press(watch, "[");
    ASSERT_TRUE(watch.state().cut);
    EXPECT_EQ(*watch.state().cut, noon + 20 * second);
    EXPECT_THAT(text_of(watch), HasSubstr("as of 11-14 22:00:20, 20s before the last figures"));
    press(watch, "3");
    const std::string then = text_of(watch);
    EXPECT_THAT(then, HasSubstr(" 10  running"));  // it failed later
    EXPECT_THAT(then, HasSubstr("  9  retried"));  // its second attempt does not exist yet
    EXPECT_THAT(then, Not(HasSubstr(" 12 ")));
    for (int n = 0; n < 100; ++n) press(watch, "[");
    EXPECT_EQ(*watch.state().cut, noon);
    EXPECT_THAT(text_of(watch), HasSubstr("no task has been dispatched yet"));
    for (int n = 0; n < 100; ++n) press(watch, "]");
    EXPECT_FALSE(watch.state().cut);
    press(watch, "[\x1b");
    EXPECT_FALSE(watch.state().cut);
}

TEST(Watching, AFrozenPictureStays) {
    Watch watch = hand_made_watch();
    press(watch, "p");
    model::RunView later = hand_made_run();
    later.title = "later";
    watch.set_picture(picture_of(std::move(later)));
    EXPECT_THAT(text_of(watch), HasSubstr("tasks.sh"));
    EXPECT_THAT(text_of(watch), HasSubstr("frozen"));
    press(watch, "p");
    EXPECT_THAT(text_of(watch), HasSubstr("later"));
}

TEST(Watching, ASelectionStaysInItsTable) {
    Watch watch = hand_made_watch();
    press(watch, "3");
    watch.apply({Key::Kind::end}, {80, 24});
    EXPECT_EQ(watch.state().table().selected, 13u);
    model::RunView fewer = hand_made_run();
    fewer.attempts.resize(2);
    watch.set_picture(picture_of(std::move(fewer)));
    text_of(watch);
    EXPECT_EQ(watch.state().table().selected, 1u);
    watch.apply({Key::Kind::page_up}, {80, 24});
    EXPECT_EQ(watch.state().table().selected, 0u);
}

TEST(Watching, TablesAreWrittenWhole) {
    Watch watch = hand_made_watch();
    press(watch, "3/merge\r");
    const std::string csv = watch.csv();
    EXPECT_THAT(csv, StartsWith("TASK,STATE,TRY,CATEGORY,HOST,BEGIN,TIME,ENDING,CORES,MEMORY\n"
                                "10,failed,1,merge,node2,22:00:13,17s,signal 11 (SIGSEGV),0.50,812.0 MiB\n"));
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
}

TEST(Watching, TheSelectedTaskStaysSelected) {
    model::RunView run = hand_made_run();
    std::erase_if(run.attempts, [](const model::RunAttempt& one) { return one.task < 5; });
    Watch watch(picture_of(std::move(run)));
    press(watch, "3\v\v");
    EXPECT_EQ(watch.state().table().selected, 2u);  // task 7
    watch.set_picture(picture_of(hand_made_run()));
    EXPECT_EQ(watch.state().table().selected, 6u);
    press(watch, "\r");
    EXPECT_EQ(watch.state().opened, 7u);
}

// Costs of 100,000 tasks, as counts: a table is sorted once for each change, and a frame formats its rows.
TEST(Watching, OnlyVisibleRowsAreFormatted) {
    model::RunView run = hand_made_run();
    run.attempts.clear();
    constexpr std::uint64_t tasks = 100'000;
    for (std::uint64_t task = 1; task <= tasks; ++task) run.attempts.push_back(attempt(task, 2, 8));
    Watch watch(picture_of(std::move(run)));
    press(watch, "3");
    EXPECT_EQ(watch.work().counted, 1u);
    const std::size_t sorted = watch.work().sorted;
    constexpr int frames = 100;
    for (int n = 0; n < frames; ++n) {
        watch.apply({Key::Kind::page_down}, {80, 24});
        text_of(watch);
    }
    EXPECT_EQ(watch.state().table().selected, frames * visible_rows(watch.state(), {80, 24}));
    EXPECT_EQ(watch.work().formatted, frames * visible_rows(watch.state(), {80, 24}));
    EXPECT_EQ(watch.work().sorted, sorted);
    EXPECT_EQ(watch.work().counted, 1u);
    press(watch, "o");
    EXPECT_EQ(watch.work().sorted, sorted + 1);
    press(watch, "[");
    EXPECT_EQ(watch.work().counted, 2u);
}

}  // namespace
}  // namespace wq::views::terminal
