#include "engine/tasklist/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "item_text.h"

namespace {

using namespace wq::engine::tasklist;
using namespace wq::engine::tasklist::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One line of input, what it becomes ("" for nothing).
struct LineCase {
    std::string line;
    std::string item;
};

class Lines : public ::testing::TestWithParam<LineCase> {};

TEST_P(Lines, AreRead) {
    const Reading reading = read_list(GetParam().line + "\n");
    EXPECT_EQ(reading.error, "") << GetParam().line;
    const auto texts = texts_of(reading.items);
    EXPECT_EQ(texts.empty() ? "" : texts.front(), GetParam().item) << GetParam().line;
    EXPECT_LE(texts.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Commands, Lines,
                         ::testing::Values(LineCase{"echo a", "1 task [echo a]"},
                                           LineCase{"  \techo a \t ", "1 task [echo a]"}, LineCase{"", ""},
                                           LineCase{" \t ", ""}, LineCase{"echo a\\ ", "1 task [echo a\\ ]"},
                                           LineCase{"echo a\\\\", "1 task [echo a\\\\]"},
                                           LineCase{"printf '\x1b[1m'", "1 task [printf '\x1b[1m']"},
                                           LineCase{"echo \xFF\xC3\xBC", "1 task [echo \xFF\xC3\xBC]"}));

INSTANTIATE_TEST_SUITE_P(
    Tags, Lines,
    ::testing::Values(LineCase{"cd /x #!", "1 env 1 [cd /x]"}, LineCase{"a #@2", "1 task [a] @2"},
                      LineCase{"a #@1#@2", "1 task [a] @1 @2"},
                      LineCase{"a #@1 #@2\t#@1", "1 task [a] @1 @2"},
                      LineCase{"cd /x #!#@1#@2", "1 env 1 [cd /x] @1 @2"},
                      LineCase{"exit #! #@1", "1 env 1 [exit] @1"}, LineCase{"a #:g", "1 task [a] :g"},
                      LineCase{"a #+g", "1 task [a] +g"}, LineCase{"a #:", "1 task [a] :"},
                      LineCase{"a #+", "1 task [a]"}, LineCase{"a #:x#+y #@7", "1 task [a] :x +y @7"},
                      LineCase{"a #+x #:x", "1 task [a] :x"}, LineCase{"a #:x #+x", "1 task [a] :x"},
                      LineCase{"a #:gr\xC3\xBC\xC3\x9F", "1 task [a] :gr\xC3\xBC\xC3\x9F"},
                      LineCase{"a #:s1/part-2.x:y,z=1+2@3%4", "1 task [a] :s1/part-2.x:y,z=1+2@3%4"},
                      LineCase{"a #@4294967295", "1 task [a] @4294967295"},
                      LineCase{"a #@007", "1 task [a] @7"}, LineCase{"a #:g  ", "1 task [a] :g"},
                      LineCase{"a #:g\r", "1 task [a] :g"}, LineCase{"#:", "1 barrier"},
                      LineCase{"  #: \r", "1 barrier"}, LineCase{"#: #:", "1 barrier"},
                      LineCase{"#:#+", "1 barrier"}));

INSTANTIATE_TEST_SUITE_P(
    WhatTheShellKeeps, Lines,
    ::testing::Values(
        LineCase{"sed s#:x#y# f", "1 task [sed s#:x#y# f]"}, LineCase{"sed s#:x#y#", "1 task [sed s#:x#y#]"},
        LineCase{"echo $#", "1 task [echo $#]"},
        LineCase{"echo ${x#:y} ${#x}", "1 task [echo ${x#:y} ${#x}]"},
        LineCase{"echo ${x# #:y }", "1 task [echo ${x# #:y }]"},
        LineCase{"echo hi # a remark", "1 task [echo hi # a remark]"},
        LineCase{"echo hi #remark", "1 task [echo hi #remark]"},
        LineCase{"echo hi ##", "1 task [echo hi ##]"}, LineCase{"echo hi #", "1 task [echo hi #]"},
        LineCase{"echo hi # see #: and such", "1 task [echo hi # see #: and such]"},
        LineCase{"echo hi # a remark #:g", "1 task [echo hi # a remark] :g"},
        LineCase{"echo 'a #:b'", "1 task [echo 'a #:b']"},
        LineCase{"echo 'a #:b c'", "1 task [echo 'a #:b c']"},
        LineCase{"echo \"a #@x c\"", "1 task [echo \"a #@x c\"]"},
        LineCase{"echo \"$(echo \"a #@x c\")\"", "1 task [echo \"$(echo \"a #@x c\")\"]"},
        LineCase{"echo $'it\\'s #@x c'", "1 task [echo $'it\\'s #@x c']"},
        LineCase{"echo `echo '#@x c'`", "1 task [echo `echo '#@x c'`]"},
        LineCase{"echo $((16#ff + (1)))", "1 task [echo $((16#ff + (1)))]"},
        LineCase{"echo \\#:a b", "1 task [echo \\#:a b]"}, LineCase{"echo \\ #:g", "1 task [echo \\ #:g]"},
        LineCase{"echo a#:g", "1 task [echo a#:g]"},
        LineCase{"curl http://x/#!/y", "1 task [curl http://x/#!/y]"},
        LineCase{"newtask=x cmd", "1 task [newtask=x cmd]"}));

INSTANTIATE_TEST_SUITE_P(Comments, Lines,
                         ::testing::Values(LineCase{"# a remark", ""}, LineCase{"#", ""},
                                           LineCase{"#!/bin/bash", ""}, LineCase{"#!/bin/bash -l", ""},
                                           LineCase{"#! /bin/sh", ""}, LineCase{"\xEF\xBB\xBF#!/bin/sh", ""},
                                           LineCase{"#cd x #!", ""}, LineCase{"#echo a #:g", ""},
                                           LineCase{"  # x", ""}, LineCase{"#++++++++", ""},
                                           LineCase{"#::::", ""}, LineCase{"#@author x", ""},
                                           LineCase{"#!!! mind this", ""}, LineCase{"#LASTWORKER 1", ""},
                                           LineCase{"# WQ cores=2", ""},
                                           LineCase{"# ends in a backslash \\", ""}));

INSTANTIATE_TEST_SUITE_P(EnvironmentLines, Lines,
                         ::testing::Values(LineCase{"export x='newtask=1' #!",
                                                    "1 env 1 [export x='newtask=1']"},
                                           LineCase{"mynewtask=1 #!", "1 env 1 [mynewtask=1]"},
                                           LineCase{"newtasks=1 #!", "1 env 1 [newtasks=1]"},
                                           LineCase{"echo $newid #!", "1 env 1 [echo $newid]"}));

struct BadLine {
    std::string line;
    std::string message;  // behind "list.sh:1: "
};

class BadLines : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadLines, AreNamedWithFileAndLine) {
    ListReader reader("list.sh");
    std::vector<Item> items;
    const auto status = reader.feed(GetParam().line + "\necho never read\n", items);
    ASSERT_FALSE(status) << GetParam().line;
    EXPECT_EQ(status.error().code, wq::ExitCode::bad_input);
    EXPECT_EQ(status.error().message, "list.sh:1: " + GetParam().message);
    EXPECT_THAT(items, IsEmpty());
}

const std::string advice =
    "; tags are #!, #@ID, #:GROUP and #+GROUP and end their line; a comment begins with '# '";

INSTANTIATE_TEST_SUITE_P(
    Tags, BadLines,
    ::testing::Values(
        BadLine{"a #@x", "unknown tag '#@x'" + advice}, BadLine{"a #@", "unknown tag '#@'" + advice},
        BadLine{"a #!!", "unknown tag '#!!'" + advice},
        BadLine{"a #@4294967296", "unknown tag '#@4294967296'" + advice},
        BadLine{"a #:x'", "unknown tag '#:x''" + advice}, BadLine{"a #!#@x", "unknown tag '#!#@x'" + advice},
        BadLine{"a #:g#", "unknown tag '#:g#'" + advice},
        BadLine{"a # remark #@x", "unknown tag '#@x'" + advice},
        BadLine{"a;#@1", "the tag '#@1' needs a blank before it" + advice},
        BadLine{"a #@-1", "unknown tag '#@-1'" + advice}, BadLine{"a #@x #:g", "unknown tag '#@x'" + advice},
        BadLine{"a #:a b", "the tag '#:a' is followed by 'b'" + advice},
        BadLine{"a #:a # why", "the tag '#:a' is followed by '# why'" + advice},
        BadLine{"a \"$(b)\" #@1 c d", "the tag '#@1' is followed by 'c d'" + advice},
        BadLine{"a #! # why", "the tag '#!' is followed by '# why'" + advice},
        BadLine{"a #WQ cores=2", "#WQ needs its own line, above the tasks that it is for"}));

const std::string lone =
    "tags without a command; write the command before its tags (only a bare '#:' stands alone)";

const std::string misspelt = "settings begin with '#WQ ', those of a category with '#WQ-CATEGORY NAME'";

INSTANTIATE_TEST_SUITE_P(
    HashLines, BadLines,
    ::testing::Values(
        BadLine{"#!", lone}, BadLine{"#@1", lone}, BadLine{"#:g", lone}, BadLine{"#+", lone},
        BadLine{"#+g", lone}, BadLine{"#: #@1", lone}, BadLine{"#!#:", lone},
        BadLine{"#: wait here", "tags follow a command, or '#:' stands alone; write a comment as '# ...'"},
        BadLine{"#! cd x", "tags follow a command, or '#:' stands alone; write a comment as '# ...'"},
        BadLine{"#wq cores=2", misspelt}, BadLine{"#WQcores=2", misspelt},
        BadLine{"#WQ-CATEGORIES a cores=2", misspelt}, BadLine{"#WQ-category a cores=2", misspelt},
        BadLine{"a #WQ-CATEGORY b cores=2", "#WQ-CATEGORY needs its own line"},
        BadLine{"#WQ-CATEGORY a cores=lots",
                "bad value of 'cores': 'lots' is not a number from 0 to 100000 (with at most three "
                "decimals); write #WQ-CATEGORY NAME, then cores= memory= disk= gpus= after max, min or "
                "first, and "
                "mode= concurrent="}));

INSTANTIATE_TEST_SUITE_P(
    EnvironmentLines, BadLines,
    ::testing::Values(
        BadLine{"cd x #! #:g",
                "a '#!' line cannot be in a group; put a bare '#:' line before it, and only '#!' on it"},
        BadLine{"newtask=\"~/b.sh\" #!#@2",
                "'newtask' works only in runtask; this list cannot jump or rename workers"},
        BadLine{"a; newid=$WORKERID #!",
                "'newid' works only in runtask; this list cannot jump or rename workers"},
        BadLine{"export jumpto+=x #!",
                "'jumpto' works only in runtask; this list cannot jump or rename workers"}));

INSTANTIATE_TEST_SUITE_P(
    Bytes, BadLines,
    ::testing::Values(
        BadLine{std::string("a\0b", 3), "a NUL byte at column 2; a task list is plain text"},
        BadLine{"echo \x07",
                "a control byte '\\x07' at column 6; a task list is plain text (in a command, write it "
                "as an escape of printf)"},
        BadLine{"# a\rb",
                "a control byte '\\x0d' at column 4; a task list is plain text (in a command, write it "
                "as an escape of printf)"},
        BadLine{"\x7f"
                "ELF",
                "a control byte '\\x7f' at column 1; a task list is plain text (in a command, write it "
                "as an escape of printf)"},
        BadLine{"a \\",
                "the command ends in a backslash, but a task is one line; join it with the next line"},
        BadLine{"a \\ \\",
                "the command ends in a backslash, but a task is one line; join it with the next line"},
        BadLine{std::string(ListReader::max_line_bytes + 1, 'x'),
                "a line longer than 1 MiB; put the command into a script, or its input into a file"}));

TEST(List, AnEmptyListHasNoItems) {
    EXPECT_EQ(read_list(""), (Reading{{}, "", 0}));
    EXPECT_EQ(read_list("\n\n# nothing\n").items.size(), 0U);
    EXPECT_EQ(read_list("\n\n# nothing\n").lines, 3U);
}

TEST(List, CategoryLinesStandForThemselves) {
    const Reading reading = read_list(
        "#WQ cores=2\n \t#WQ-CATEGORY align cores=4 mode=max # all\r\nwork\n#WQ-CATEGORY b concurrent=1");
    EXPECT_EQ(reading.error, "");
    EXPECT_THAT(texts_of(reading.items),
                ElementsAre("1 settings cores=2", "2 category align", "3 task [work]", "4 category b"));
    const auto& align = std::get<CategorySettings>(reading.items.at(1));
    EXPECT_EQ(align.text, "#WQ-CATEGORY align cores=4 mode=max # all");
    EXPECT_EQ(align.category.max, (CategoryResources{4, {}, {}, {}}));
    EXPECT_EQ(align.category.mode, wq::engine::model::AllocationMode::max);
}

TEST(List, TheLinesOfACategoryDoNotContradictEachOther) {
    const Reading reading = read_list("#WQ-CATEGORY a cores=2\nwork\n#WQ-CATEGORY a min cores=4\nmore\n");
    EXPECT_EQ(reading.error,
              "list.sh:3: the min of 'cores' is above its max (line 1 sets the other); raise the max");
    EXPECT_EQ(reading.items.size(), 2U);
}

TEST(List, TheManualsExample) {
    const Reading reading = read_list(
        "cd ~/playground/models/resnet_family #!\n"
        "cd resnet34; train_model #:mygroup1\n"
        "cd resnet101; train_model #@2\n"
        "\n"
        "#WQ cores=2 memory=4G\n"
        "cd ../mbnet_family #!\n"
        "cd mbnetv1; train_model\n"
        "#:\n"
        "cd resnet34; test_model_on dataset1 #+mygroup1\n"
        "#WQ cores=\n"
        "cd resnet34; report_test_result #:mygroup1");
    EXPECT_EQ(reading.error, "");
    EXPECT_THAT(texts_of(reading.items),
                ElementsAre("1 env 1 [cd ~/playground/models/resnet_family]",
                            "2 task [cd resnet34; train_model] env=1 :mygroup1",
                            "3 task [cd resnet101; train_model] env=1 @2",  //
                            "5 settings cores=2 memory=4096",               //
                            "6 env 2 [cd ../mbnet_family]",                 //
                            "7 task [cd mbnetv1; train_model] env=2",       //
                            "8 barrier",                                    //
                            "9 task [cd resnet34; test_model_on dataset1] env=2 +mygroup1",
                            "10 settings memory=4096",  //
                            "11 task [cd resnet34; report_test_result] env=2 :mygroup1"));
}

TEST(List, ItemsBeforeAnErrorAreGivenAndTheErrorStays) {
    ListReader reader("jobs.txt");
    std::vector<Item> items;
    const auto status = reader.feed("one\n#WQ cores=2\ntwo #@x\nthree\n", items);
    ASSERT_FALSE(status);
    EXPECT_THAT(texts_of(items), ElementsAre("1 task [one]", "2 settings cores=2"));
    EXPECT_TRUE(status.error().message.starts_with("jobs.txt:3: ")) << status.error().message;
    EXPECT_EQ(reader.feed("four\n", items).error().message, status.error().message);
    EXPECT_EQ(reader.finish(items).error().message, status.error().message);
    EXPECT_EQ(items.size(), 2U);
}

TEST(List, TheMarkOfUtf8IsPassedOverOnTheFirstLineOnly) {
    EXPECT_THAT(texts_of(read_list("\xEF\xBB\xBF"
                                   "a\n\xEF\xBB\xBF"
                                   "b\n")
                             .items),
                ElementsAre("1 task [a]",
                            "2 task [\xEF\xBB\xBF"
                            "b]"));
}

TEST(List, ALineOfExactlyTheLimitIsATask) {
    const std::string line(ListReader::max_line_bytes, 'x');
    EXPECT_EQ(read_list(line).items.size(), 1U);
    EXPECT_EQ(read_list(line + "\n" + line + "\n").items.size(), 2U);
}

TEST(List, AnEndlessLineIsRefusedBeforeItsEnd) {
    ListReader reader("list.sh");
    std::vector<Item> items;
    const std::string piece(64 << 10, 'x');
    int pieces = 0;
    while (reader.feed(piece, items) && pieces < 100) ++pieces;
    EXPECT_EQ(pieces, 16);
}

}  // namespace
