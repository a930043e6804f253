#include "shared_list/text/choice.h"

#include <gtest/gtest.h>

namespace {

using namespace wq::shared_list::text;

// "2", "2!": line 2 (`#!`), "2<1": line 2 after the `#!` of line 1; "-": nothing.
std::string chosen(std::string_view text, WorkerId worker = 0, std::uint64_t last = 0) {
    const auto choice = choose(Document::read(text).value(), worker, last);
    if (!choice) return "-";
    return std::to_string(choice->number) + (choice->environment ? "!" : "") +
           (choice->replay != 0 ? "<" + std::to_string(choice->replay) : "");
}

const std::string ran = " # worker 1 # (01-01 00:00:00 ...";
const std::string ok = ran + " 01-01 00:00:01) #ok";
const std::string error = ran + " 01-01 00:00:01) #error1";
const std::string lost = ran + " 01-01 00:00:01) #lost";

TEST(Choice, IsTheFirstLineThatWaits) {
    EXPECT_EQ(chosen(""), "-");
    EXPECT_EQ(chosen("# note\n\necho a\necho b\n"), "3");
    EXPECT_EQ(chosen("#echo a" + ok + "\n#echo b" + ran + "\necho c\n"), "3");
    EXPECT_EQ(chosen("#echo a" + ok + "\n#echo b" + ran + "\n"), "-");
}

TEST(Choice, FollowsTheWorkersOfALine) {
    EXPECT_EQ(chosen("echo a #@1\necho b #@0#@2\n", 0), "2");
    EXPECT_EQ(chosen("echo a #@1\necho b #@0#@2\n", 1), "1");
    EXPECT_EQ(chosen("echo a #@1\necho b #@0#@2\n", 3), "-");
    EXPECT_EQ(chosen("echo a #@gpu\n", 0), "-");
}

TEST(Choice, GivesAFailedLineToOtherWorkersOnceEach) {
    EXPECT_EQ(chosen("echo a" + error + "\n", 1), "-");
    EXPECT_EQ(chosen("echo a" + error + "\n", 2), "1");
    EXPECT_EQ(chosen("echo a" + lost + "\n", 1), "1");
}

TEST(Choice, RunsEnvironmentLinesInTheOrderOfTheList) {
    const std::string list = "cd x #!\ncd y #!#@1\necho a\ncd z #!\necho b\n";
    EXPECT_EQ(chosen(list, 0, 0), "1!");
    EXPECT_EQ(chosen(list, 0, 1), "3");
    EXPECT_EQ(chosen(list, 1, 1), "2!");
    EXPECT_EQ(chosen("cd x #!\n#echo a" + ran + "\ncd z #!\n", 0, 1), "3!");
    EXPECT_EQ(chosen("cd x #!\n#echo a" + ran + "\ncd z #!\n", 0, 3), "-");
}

TEST(Choice, ReplaysTheLastEnvironmentLineForAnEarlierLine) {
    const std::string list = "cd x #!\ncd y #!\necho a" + error + "\ncd z #!\n#echo b" + ok + "\n";
    EXPECT_EQ(chosen(list, 0, 4), "3<2");
    EXPECT_EQ(chosen(list, 0, 2), "3");
    EXPECT_EQ(chosen("echo a" + error + "\ncd z #!\n", 0, 2), "1");
}

TEST(Choice, OrdersGroups) {
    EXPECT_EQ(chosen("a #:g\nb #:g\nc\n", 0), "1");
    EXPECT_EQ(chosen("#a #:g" + ran + "\nb #:g\nc\n", 0), "3");
    EXPECT_EQ(chosen("#a #:g" + ok + "\nb #:g\nc\n", 0), "2");
    EXPECT_EQ(chosen("#a #:g" + ran + "\nb #+g\nc #+h\n", 0), "3");
    EXPECT_EQ(chosen("#a #+g" + ran + "\nb #+g\n", 0), "2");
    EXPECT_EQ(chosen("#a #+g" + ran + "\nb #:g\n", 0), "-");
    EXPECT_EQ(chosen("a #:g" + error + "\nb #:g\n", 1), "-");
    EXPECT_EQ(chosen("#a #:g" + ran + "\nb #:h #+g\nc #:h\nd\n", 0), "4");
    EXPECT_EQ(chosen("#a #:g" + ran + "\ncd x #!#:g\nb\n", 0), "3");
    EXPECT_EQ(chosen("#a #:g" + ok + "\ncd x #!#:g\nb\n", 0), "2!");
}

TEST(Choice, TakesABareSequentialTagForABarrier) {
    EXPECT_EQ(chosen("#a" + ran + "\nb #:\nc\n", 0), "-");
    EXPECT_EQ(chosen("#a" + ok + "\nb #:\nc\n", 0), "2");
    EXPECT_EQ(chosen("#a" + ok + "\n#b #:" + ran + "\nc\n", 0), "-");
    EXPECT_EQ(chosen("#a" + ran + "\n#:\nc\n", 0), "-");
    EXPECT_EQ(chosen("#a" + ok + "\n#:\nc\n", 0), "3");
    EXPECT_EQ(chosen("#a" + ran + "\nb #+\n", 0), "2");
    EXPECT_EQ(chosen("#a" + ran + "\n#:\ncd x #!\n", 0), "-");
}

TEST(Choice, TakesWhatTheEndOfALineFrees) {
    const Document list = Document::read("#a #:g" + ran + "\nb #:g\n").value();
    End end{1, 1, "01-01 00:00:00", "01-01 00:00:01", TryEnd::ok, 0, "a #:g"};
    EXPECT_FALSE(choose(list, 1, 1));
    EXPECT_EQ(choose(list, 1, 1, {&end, 1})->number, 2U);
    end.end = TryEnd::error;
    EXPECT_FALSE(choose(list, 1, 1, {&end, 1}));
}

TEST(Choice, SaysWhyItWaits) {
    const Document list = Document::read("#a #:g" + ran + "\nb #:g\nc #@7\nd" + error + "\ne #:\n").value();
    const Waiting why = why_waiting(list, 1);
    EXPECT_EQ(why.running, 1U);
    EXPECT_EQ(why.blocked, 2U);
    EXPECT_EQ(why.others, 1U);
    EXPECT_EQ(why.tried, 1U);
    EXPECT_EQ(why.first_blocked, 2U);
    EXPECT_EQ(why.blocked_by, 1U);
    EXPECT_EQ(why.group, "g");
    EXPECT_EQ(why.may_become_free, 2U);
}

}  // namespace
