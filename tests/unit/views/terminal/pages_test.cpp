#include "views/terminal/pages.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "support/golden_file.h"
#include "unit/views/terminal/hand_made_run.h"

namespace wq::views::terminal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

void expect_page(const std::string& name, const std::string& keys) {
    Watch watch = hand_made_watch();
    press(watch, keys);
    test::expect_golden("watch/" + name + "_80x24.txt", text_of(watch));
    test::expect_golden("watch/" + name + "_120x40.txt", text_of(watch, {120, 40}));
}

TEST(Pages, Overview) {
    expect_page("overview", "");
}
TEST(Pages, Workers) {
    expect_page("workers", "2");
}
TEST(Pages, Tasks) {
    expect_page("tasks", "3");
}
TEST(Pages, OpenTask) {
    expect_page("task", "3/9\r\r");
}
TEST(Pages, Failures) {
    expect_page("failures", "4");
}
TEST(Pages, Waiting) {
    expect_page("waiting", "5");
}
TEST(Pages, Account) {
    expect_page("account", "6");
}
TEST(Pages, Help) {
    expect_page("help", "?");
}

TEST(Pages, TheGuideShowsTheOverview) {
    const std::string guide = test::read_file((test::source_dir() / "share/doc/watching.md").string());
    Watch watch = hand_made_watch();
    const std::string text = text_of(watch);
    for (std::string_view rest = text; !rest.empty();)
        EXPECT_THAT(guide, HasSubstr("\n" + std::string(next_line(rest)) + "\n"));
}

TEST(Pages, WithoutUtf8) {
    Watch watch = hand_made_watch();
    const std::string text = text_of(watch, {80, 24}, Glyphs::ascii);
    test::expect_golden("watch/overview_ascii.txt", text);
    for (const char byte : text) EXPECT_LT(static_cast<unsigned char>(byte), 0x80);
}

TEST(Pages, EveryRowFitsEverySize) {
    for (const Size size : {Size{80, 24}, Size{81, 25}, Size{133, 37}, Size{300, 80}}) {
        Watch watch = hand_made_watch();
        for (const char* const keys : {"1", "2", "3", "\r",
                                       "\x1b"
                                       "4",
                                       "5", "6", "?"}) {
            press(watch, keys, size);
            const Frame frame = watch.frame(size, Glyphs::utf8, noon);
            for (int row = 0; row < size.rows; ++row) {
                int columns = 0;
                for (const Frame::Run& run : frame.runs(row)) columns += columns_of(run.text, Glyphs::utf8);
                EXPECT_EQ(columns, size.columns) << keys << ", row " << row;
            }
        }
    }
}

TEST(Pages, ASmallScreenSaysSo) {
    Watch watch = hand_made_watch();
    EXPECT_THAT(text_of(watch, {79, 24}),
                StartsWith("The screen has 79 columns and 24 rows;\n80 and 24 are needed. q quits.\n\n"));
    EXPECT_EQ(text_of(watch, {4, 1}), "The\n");
    EXPECT_EQ(text_of(watch, {0, 0}), "");
}

TEST(Pages, ARunWithoutAnything) {
    use_utc();
    Watch watch(std::make_shared<const RunPicture>());
    for (const char* const keys : {"1", "2", "3", "\r", "4", "\r", "5", "\r", "6", "\r", "[", "]", "w"}) {
        press(watch, keys);
        EXPECT_THAT(text_of(watch), Not(HasSubstr("nan"))) << keys;
    }
    press(watch, "3");
    EXPECT_THAT(text_of(watch), HasSubstr("no task has been dispatched yet"));
    press(watch, "1");
    EXPECT_THAT(text_of(watch), HasSubstr("no worker is connected"));
}

TEST(Pages, SilenceIsToldAboveTheLastPicture) {
    Watch watch = hand_made_watch();
    watch.set_silence({noon + 190 * second, "tasks.sh.wq: no such directory"});
    const std::string text = text_of(watch);
    EXPECT_THAT(text, HasSubstr("not answering since 22:03:10: tasks.sh.wq: no such directory"));
    EXPECT_THAT(text, HasSubstr("node1"));
    watch.set_silence({});
    EXPECT_THAT(text_of(watch), Not(HasSubstr("not answering")));
}

TEST(Pages, ManyHostsAreSigns) {
    model::RunView run = hand_made_run();
    for (std::uint32_t n = 0; n < 10'000; ++n)
        run.workers.push_back(worker(n, "host" + std::to_string(n), 8, 1));
    Watch watch(picture_of(std::move(run)));
    const std::string text = text_of(watch);
    EXPECT_THAT(text, HasSubstr("each sign is "));
    EXPECT_THAT(text, HasSubstr("hosts   10,002"));
    EXPECT_THAT(text, HasSubstr("Last failures"));
}

// stats.h5 has the attempts that have ended.
TEST(Pages, WhatRunsIsNotKnown) {
    model::RunView run = hand_made_run();
    std::erase_if(run.attempts, [](const model::RunAttempt& one) { return one.received == 0; });
    run.samples.back().stats.committed_cores = 3;
    run.samples.back().stats.total_cores = 12;
    Watch some(picture_of(run));
    EXPECT_THAT(text_of(some), HasSubstr("3 of 12 busy"));
    EXPECT_THAT(text_of(some), HasSubstr("running  3"));
    EXPECT_THAT(text_of(some), HasSubstr("?/4"));
    press(some, "2");
    EXPECT_THAT(text_of(some), HasSubstr("connected"));
    run.samples.back().stats.committed_cores = 12;
    Watch all(picture_of(run));
    EXPECT_THAT(text_of(all), HasSubstr("4/4"));
    EXPECT_THAT(text_of(all), HasSubstr("8/8"));
}

TEST(Pages, AsTextForThoseWithoutATerminal) {
    Watch watch = hand_made_watch();
    test::expect_golden("watch/overview_text.txt", watch.overview(80, Glyphs::utf8, noon + 42 * second));
}

// Names come from others.
TEST(Pages, HostileNamesAreHarmless) {
    model::RunView run = hand_made_run();
    const std::string escape = "\x1b]0;owned\x07\x1b[2J\x1b[1;1H";
    run.title = run.host = escape + "日本語";
    run.categories[0].name = std::string(10 << 20, 'a') + escape;
    run.categories[1].name = escape + "日本語日本語日本語日本語";
    run.workers[0].host = escape + "\n\n\n";
    run.workers[1].host = run.workers[1].address = "\u202e\u202ehost";
    run.workers[2].why_left = escape;
    run.lacks = {escape};
    run.asks[1].features = escape;
    const Size size{120, 40};
    Watch watch(picture_of(std::move(run)));
    watch.set_silence({noon, escape});
    for (const char* const keys : {"1", "2", "3", "\r",
                                   "\x1b"
                                   "4",
                                   "5", "6"}) {
        press(watch, keys, size);
        const Frame frame = watch.frame(size, Glyphs::utf8, noon);
        for (int row = 0; row < size.rows; ++row) {
            int columns = 0;
            for (const Frame::Run& part : frame.runs(row)) {
                columns += columns_of(part.text, Glyphs::utf8);
                for (const char byte : part.text) {
                    EXPECT_GE(static_cast<unsigned char>(byte), 0x20) << keys << ", row " << row;
                    EXPECT_NE(byte, 0x7f) << keys << ", row " << row;
                }
                EXPECT_THAT(part.text, Not(HasSubstr("\u202e")));
            }
            EXPECT_EQ(columns, size.columns) << keys << ", row " << row;
        }
    }
    press(watch, "3", size);
    const std::string csv = watch.csv();
    EXPECT_THAT(csv, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace wq::views::terminal
