#include "shared_list/text/document.h"

#include <gtest/gtest.h>

#include "random_list.h"
#include "support/some_of.h"

namespace {

using namespace wq::shared_list::text;
using wq::shared_list::text::testing::RandomList;

Document read(std::string_view text) {
    return Document::read(text).value();
}

std::string spliced(const std::string& file, const std::vector<Splice>& splices) {
    std::string text;
    std::uint64_t at = 0;
    for (const Splice& splice : splices) {
        EXPECT_GE(splice.offset, at);
        text += file.substr(at, splice.offset - at) + splice.text;
        at = splice.offset + splice.length;
    }
    return text + file.substr(at);
}

// The file of the document's simple example, after the same events.
TEST(Document, IsEditedAsTheDocumentShows) {
    Document list = read(
        "echo task1; sleep 3 \necho task2; sleep 3 \necho task3; sleep 3\necho task4; sleep 3 \necho task5; "
        "sleep 3 \n");
    list.apply(Join{0, "myspace-g46kh-25239-worker-0 100.122.27.103 ", "07-28 15:52:28"});
    list.apply(Take{2, 0, "07-28 15:52:29", "echo task1; sleep 3"});
    list.apply(End{2, 0, "07-28 15:52:29", "07-28 15:52:33", TryEnd::ok, 0, "echo task1; sleep 3"});
    list.apply(Take{3, 0, "07-28 15:52:33", "echo task2; sleep 3"});
    list.apply(Join{1, "myspace-khg46-39252-worker-0 100.121.27.101 ", "07-28 15:52:34"});
    list.apply(Take{4, 1, "07-28 15:52:34", "echo task3; sleep 3"});
    EXPECT_EQ(list.bytes(),
              "#LASTWORKER 1\n"
              "#echo task1; sleep 3 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n"
              "#echo task2; sleep 3 # worker 0 # (07-28 15:52:33 ...\n"
              "#echo task3; sleep 3 # worker 1 # (07-28 15:52:34 ...\n"
              "echo task4; sleep 3 \n"
              "echo task5; sleep 3 \n"
              "# worker 0: myspace-g46kh-25239-worker-0 100.122.27.103  (07-28 15:52:28)\n"
              "# worker 1: myspace-khg46-39252-worker-0 100.121.27.101  (07-28 15:52:34)\n");
    EXPECT_EQ(list.audit(), "");
}

TEST(Document, AnEmptyListIsJoined) {
    Document list = read("");
    list.apply(Join{5, "host", "07-28 15:52:28"});
    EXPECT_EQ(list.bytes(), "#LASTWORKER 5\n# worker 5: host (07-28 15:52:28)\n");
    EXPECT_EQ(list.last_worker(), 5);
    list.apply(Join{2, "other", "07-28 15:52:29"});
    EXPECT_EQ(list.last_worker(), 5);
}

TEST(Document, AMissingLastNewlineIsAdded) {
    Document list = read("#LASTWORKER -1\necho a");
    list.apply(Join{0, "host", "07-28 15:52:28"});
    EXPECT_EQ(list.bytes(), "#LASTWORKER 0\necho a\n# worker 0: host (07-28 15:52:28)\n");
}

TEST(Document, CarriageReturnsStay) {
    Document list = read("echo a\r\necho b\r\n");
    list.apply(Take{1, 0, "07-28 15:52:29", "echo a"});
    EXPECT_EQ(list.bytes(), "#echo a # worker 0 # (07-28 15:52:29 ...\r\necho b\r\n");
    EXPECT_EQ(list.line(1).command, "echo a");
}

class Ends : public ::testing::Test {
  protected:
    // A worker begins "echo b" in line 2; meanwhile the list becomes `edited`.
    static std::string after(std::string edited) {
        Document list = read(edited);
        list.apply(End{2, 0, "07-28 15:52:29", "07-28 15:52:33", TryEnd::ok, 0, "echo b #:g"});
        EXPECT_EQ(list.audit(), "");
        return list.bytes();
    }
};

TEST_F(Ends, FindALineThatMoved) {
    EXPECT_EQ(after("new\nnew\necho a\n#echo b #:g # worker 0 # (07-28 15:52:29 ...\n"),
              "new\nnew\necho a\n#echo b #:g # worker 0 # (07-28 15:52:29 ... line+2 07-28 15:52:33) #ok\n");
    EXPECT_EQ(after("#echo b #:g # worker 0 # (07-28 15:52:29 ...\necho b #:g\n"),
              "#echo b #:g # worker 0 # (07-28 15:52:29 ... line-1 07-28 15:52:33) #ok\necho b #:g\n");
}

TEST_F(Ends, FindALineWhoseTagsWereEdited) {
    EXPECT_EQ(after("echo a\n#echo b #@3 # worker 0 # (07-28 15:52:29 ...\n"),
              "echo a\n#echo b #@3 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n");
}

TEST(Document, AnEndMarksItsLineAmongThoseThatDifferInTags) {
    Document list = read(
        "# new\n#sh t.sh #:a # worker 0 # (07-28 15:52:29 ...\n#sh t.sh #:b # worker 0 # (07-28 15:52:29 "
        "...\n");
    list.apply(End{2, 0, "07-28 15:52:29", "07-28 15:52:33", TryEnd::ok, 0, "sh t.sh #:b"});
    EXPECT_EQ(list.line(2).kind, LineKind::running);
    EXPECT_EQ(list.line(3).kind, LineKind::done);
}

TEST_F(Ends, MarkALineWhoseMarkAnEditorUndid) {
    EXPECT_EQ(after("echo a\necho b #:g\n"),
              "echo a\n#echo b #:g # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n");
}

TEST_F(Ends, AreKeptWhenTheLineIsGone) {
    EXPECT_EQ(after("echo a\necho c\n"),
              "echo a\necho c\n#?line:2# echo b #:g # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n");
}

TEST_F(Ends, LetACommandWaitThatWasEditedWhileItRan) {
    EXPECT_EQ(after("echo a\n#echo B # worker 0 # (07-28 15:52:29 ...\n"),
              "echo a\necho B # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #lost\n"
              "#?line:2# echo b #:g # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n");
}

// The worker was cut off for longer than its lease, and its task ended all the same.
TEST(Document, AnEndAfterTheWorkerWasThoughtLostCountsUnlessOthersHaveTheLine) {
    const std::string lost = "echo b # worker 0 # (07-28 15:52:29 ... 07-28 15:52:40) #lost";
    const End end{1, 0, "07-28 15:52:29", "07-28 15:52:45", TryEnd::ok, 0, "echo b"};
    Document waits = read(lost + "\necho b\n");
    waits.apply(end);
    EXPECT_EQ(waits.bytes(), "#" + lost + " # worker 0 # (07-28 15:52:29 ... 07-28 15:52:45) #ok\necho b\n");
    Document taken = read("#" + lost + " # worker 1 # (07-28 15:52:41 ...\necho b\n");
    const std::string before = taken.bytes();
    taken.apply(end);
    EXPECT_EQ(taken.bytes(), before);
}

TEST(Document, AnEndOfALineThatIsGoneMarksNoOtherOne) {
    Document list = read("cut -d'#' -f1 b\n");
    list.apply(End{1, 0, "07-28 15:52:29", "07-28 15:52:45", TryEnd::ok, 0, "cut -d'#' -f1 a"});
    EXPECT_EQ(list.line(1).kind, LineKind::open);
    EXPECT_EQ(list.lines(), 2U);
}

TEST(Document, ANameWithALineEndIsNoTask) {
    Document list = read("");
    list.apply(Join{0, "x\nrm -rf /", "07-28 15:52:28"});
    EXPECT_EQ(list.bytes(), "#LASTWORKER 0\n# worker 0: x?rm -rf / (07-28 15:52:28)\n");
}

TEST(Document, ACommandThatLooksLikeARecordedEndIsNotLost) {
    Document list = read("?line:a\n");
    list.apply(Take{1, 0, "07-28 15:52:29", "?line:a"});
    EXPECT_EQ(list.line(1).kind, LineKind::running);
}

TEST(Document, RefusesNul) {
    const auto list = Document::read(std::string_view("a\nb\0c\n", 6));
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().message, "line 2: a NUL byte; a task list is plain text");
}

// Any edits: what is kept beside the lines stays right, the splices make the file, undone is undone.
TEST(Document, KeepsTrackOfRandomEdits) {
    const auto seeds = static_cast<std::uint64_t>(wq::test::some_of(900));
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        RandomList random(seed);
        std::string file = random.text(random.below(12));
        Document list = read(file);
        ASSERT_EQ(list.bytes(), file);
        for (int step = 0; step < 60; ++step) {
            const std::string before = list.bytes();
            const bool undone = random.one_in(4);
            if (undone) list.begin_change();
            for (std::uint64_t n = random.below(3); n <= 2; ++n) list.apply(random.edit(list));
            ASSERT_EQ(spliced(file, list.splices()), list.bytes()) << seed;
            if (undone) {
                list.undo_change();
                ASSERT_EQ(list.bytes(), before) << seed;
            }
            ASSERT_EQ(list.audit(), "") << seed << "\n" << list.bytes();
            ASSERT_EQ(spliced(file, list.splices()), list.bytes()) << seed;
            if (!random.one_in(3)) continue;
            file = list.bytes();
            ASSERT_TRUE(list.changed() || list.splices().empty());
            list.written();
            ASSERT_TRUE(list.splices().empty());
        }
    }
}

// Every task of the first list is there at the end, once, whatever was marked; a reset shows it.
TEST(Document, LosesNoTaskByEdits) {
    for (std::uint64_t seed = 1000; seed < 1300; ++seed) {
        RandomList random(seed);
        Document list = read(random.text(10));
        std::multiset<std::string> tasks;
        for (std::uint64_t at = 1; at <= list.lines(); ++at) {
            if (list.line(at).kind == LineKind::open) tasks.insert(list.line(at).command);
        }
        for (int step = 0; step < 80; ++step) {
            const Edit edit = random.edit(list);
            if (const auto* append = std::get_if<Append>(&edit))
                tasks.insert(append->text.substr(0, append->text.size() - 1));
            list.apply(edit);
        }
        const Document fresh = read(reset(list, 0));
        std::multiset<std::string> left;
        for (std::uint64_t at = 1; at <= fresh.lines(); ++at) {
            ASSERT_TRUE(fresh.line(at).tries.empty());
            if (fresh.line(at).kind == LineKind::open) left.insert(fresh.line(at).command);
        }
        ASSERT_EQ(left, tasks) << seed << "\n" << list.bytes();
    }
}

TEST(Reset, RestoresTheList) {
    const std::string marked =
        "#LASTWORKER 1\n"
        "cd x #!\n"
        "#echo task1 #:g # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n"
        "echo task2 # worker 0 # (07-28 15:52:33 ... 07-28 15:52:34) #error1\n"
        "# a comment\n"
        "#echo task3 # worker 1 # (07-28 15:52:34 ...\n"
        "echo task4 \n"
        "# worker 0: myspace 100.122.27.103  (07-28 15:52:28)\n"
        "#?line:9# echo gone # worker 1 # (07-28 15:53:00 ... 07-28 15:53:09) #ok\n";
    EXPECT_EQ(reset(read(marked), 0),
              "cd x #!\necho task1 #:g\necho task2\n# a comment\necho task3\necho task4 \n");
    EXPECT_EQ(reset(read(marked), 4),
              "#LASTWORKER 1\ncd x #!\n#echo task1 #:g # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n"
              "echo task2\n# a comment\necho task3\necho task4 \n");
}

}  // namespace
