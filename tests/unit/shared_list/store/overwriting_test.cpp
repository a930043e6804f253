// A list whose file has to stay is written over, and completed after a crash.
#include <algorithm>
#include <filesystem>
#include <string>

#include "stores.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;
using test::write_file;

class Overwriting : public EveryWay {
  protected:
    // What is to be copied over a list of so many bytes, if that is interrupted when the log is as in `now`.
    std::string in_place(const Version& now, std::size_t bytes) const {
        return list() + ".runtask/in_place." + now.log + "." + std::to_string(now.log_bytes) + "." +
               std::to_string(bytes);
    }
    std::ptrdiff_t files_in_place() const {
        return std::ranges::count_if(
            std::filesystem::directory_iterator(list() + ".runtask"),
            [](const auto& entry) { return entry.path().filename().string().starts_with("in_place"); });
    }
    // The list that the next worker makes of `next`, which was to be copied over `before`, and the list as
    // somebody left it after the crash.
    std::string completed(const std::string& before, const std::string& next, const std::string& left) {
        write_file(list(), before);
        const Version known = version(*opened(list()));
        write_file(in_place(known, before.size()), next);
        write_file(list(), left);
        auto store = opened(list());
        const Answer answer = ask(*store, Request{});
        EXPECT_EQ(answer.file, read_file(list()));
        // What somebody appended is no part of the list that the log tells of, so that all see it.
        const std::size_t at = answer.log.rfind("FILE ");
        EXPECT_NE(answer.log.find(" " + std::to_string(next.size()) + " ", at), std::string::npos);
        EXPECT_EQ(answer.log.ends_with("FILE " + answer.now.file + "\n"), answer.file == next);
        EXPECT_EQ(files_in_place(), 0);
        EXPECT_TRUE(ask(*store, append(answer.now, "record\n")).changed);
        return read_file(list());
    }
};

TEST_P(Overwriting, AllHardLinksStayOneFile) {
    write_file(list(), "a long line\nb\n");
    std::filesystem::create_hard_link(list(), folder_ / "other");
    auto store = opened(list());
    const Version known = version(*store);
    Request request = rewriting(known, {{0, 12, "#"}});
    request.records = "record\n";
    Answer answer = ask(*store, request);
    EXPECT_TRUE(answer.changed);
    EXPECT_EQ(read_file(folder_ / "other"), "#b\n");
    EXPECT_EQ(std::filesystem::hard_link_count(list()), 2U);
    EXPECT_EQ(read_file(list() + ".runtask/edits"),
              "LOG " + known.log + "\nrecord\nFILE " + answer.now.file + "\n");
    answer = ask(*store, rewriting(answer.now, {{0, 0, "longer\n"}}));
    EXPECT_TRUE(answer.changed);
    EXPECT_EQ(read_file(folder_ / "other"), "longer\n#b\n");
    EXPECT_FALSE(ask(*store, append(answer.now, "")).file.has_value());
}

TEST_P(Overwriting, AnInterruptedOverwritingIsFinished) {
    write_file(list(), "a\nb\n");
    write_file(in_place(version(*opened(list())), 4), "#a\nb\nc\n");
    write_file(list(), "#a\nx");
    auto store = opened(list());
    const Answer answer = ask(*store, Request{});
    EXPECT_EQ(answer.file, "#a\nb\nc\n");
    EXPECT_TRUE(answer.log.ends_with("FILE " + answer.now.file + "\n"));
    EXPECT_EQ(files_in_place(), 0);
    EXPECT_EQ(answer.now.log_bytes, answer.log.size());
}

TEST_P(Overwriting, AnOverwritingThatWasDoneIsNotDoneAgain) {
    write_file(list(), "a\n");
    std::filesystem::create_hard_link(list(), folder_ / "other");
    auto store = opened(list());
    const Version known = version(*store);
    Answer answer = ask(*store, rewriting(known, {{0, 0, "#"}}));
    ASSERT_TRUE(answer.changed);
    EXPECT_EQ(files_in_place(), 0);
    // It comes back, as its removal was not on the disk when the power failed.
    write_file(in_place(known, 2), "older\n");
    answer = ask(*store, append(answer.now, "record\n"));
    EXPECT_TRUE(answer.changed);
    EXPECT_EQ(ask(*opened(list()), Request{}).file, "#a\n");
    EXPECT_EQ(read_file(folder_ / "other"), "#a\n");
    EXPECT_TRUE(ask(*store, rewriting(answer.now, {{0, 0, "#"}})).changed);
    EXPECT_EQ(read_file(folder_ / "other"), "##a\n");
}

TEST_P(Overwriting, WhatWasAppendedAfterACrashIsKept) {
    // Before a byte was copied,
    EXPECT_EQ(completed("a\nb\n", "#a\nb\nc\n", "a\nb\nx\n"), "#a\nb\nc\nx\n");
    EXPECT_EQ(completed("a\nb\n", "#a\nb\nc\n", "a\nb\nlong\nlonger\n"), "#a\nb\nc\nlong\nlonger\n");
    EXPECT_EQ(completed("long line\nb\n", "#\n", "long line\nb\nx\n"), "#\nx\n");
    // when some were,
    EXPECT_EQ(completed("long line\nb\n", "#\nb\n", "#\nng line\nb\nx"), "#\nb\nx");
    // and when all were.
    EXPECT_EQ(completed("a\nb\n", "#a\nb\nc\n", "#a\nb\nc\nx\n"), "#a\nb\nc\nx\n");
    EXPECT_EQ(completed("a\n", "b\n", "b\nx\n"), "b\nx\n");
    // Nothing was.
    EXPECT_EQ(completed("a\nb\n", "#a\nb\nc\n", "a\nb\n"), "#a\nb\nc\n");
    EXPECT_EQ(completed("a\nb\n", "#a\nb\nc\n", "#a\nb\n"), "#a\nb\nc\n");
}

WQ_WAYS_OF_UTILITIES(Overwriting);

}  // namespace
}  // namespace wq::shared_list::store
