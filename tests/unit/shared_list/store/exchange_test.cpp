// What an exchange with a list does, by each way to it.
#include <filesystem>
#include <string>

#include "stores.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;
using test::write_file;

class Exchange : public EveryWay {};

std::string log_of(const std::string& list) {
    return read_file(list + ".runtask/edits");
}

TEST_P(Exchange, MakesAMissingList) {
    auto store = opened(list());
    EXPECT_TRUE(std::filesystem::exists(list()));
    const Answer answer = ask(*store, Request{});
    EXPECT_FALSE(answer.changed);
    EXPECT_EQ(answer.file, "");
    EXPECT_TRUE(answer.whole_log);
    EXPECT_EQ(answer.log, "LOG " + answer.now.log + "\n");
    EXPECT_EQ(answer.now.log_bytes, answer.log.size());
    EXPECT_EQ(log_of(list()), answer.log);
    EXPECT_TRUE(answer.old.empty());
}

TEST_P(Exchange, AppendsIfNothingElseHappened) {
    write_file(list(), "echo a\n");
    auto store = opened(list());
    const Version before = version(*store);
    const Answer first = ask(*store, append(before, "one\ntwo\n"));
    EXPECT_TRUE(first.changed);
    EXPECT_EQ(first.log, "");
    EXPECT_FALSE(first.file.has_value());
    EXPECT_EQ(first.now.log_bytes, before.log_bytes + 8);
    const Answer late = ask(*store, append(before, "three\n"));
    EXPECT_FALSE(late.changed);
    EXPECT_FALSE(late.whole_log);
    EXPECT_EQ(late.log, "one\ntwo\n");
    EXPECT_EQ(late.now, first.now);
    EXPECT_TRUE(ask(*store, append(late.now, "three\n")).changed);
    EXPECT_EQ(log_of(list()), "LOG " + before.log + "\none\ntwo\nthree\n");
    EXPECT_EQ(read_file(list()), "echo a\n");
}

TEST_P(Exchange, AlternatesWithAWorkerOfThisMachine) {
    if (GetParam() == Way::bare) GTEST_SKIP() << "a master without stat knows files by other identities";
    write_file(list(), "echo a\n");
    auto mine = opened(list());
    auto other = opened(Way::local, list());
    Version known = version(*mine);
    EXPECT_EQ(version(*other), known);
    for (int i = 0; i < 10; ++i) {
        ListStore& store = i % 2 == 0 ? *mine : *other;
        Answer answer = ask(store, append(known, "record " + std::to_string(i) + "\n"));
        ASSERT_TRUE(answer.changed) << i;
        answer = ask(store, rewriting(answer.now,
                                      {{5, 1, std::string(static_cast<std::size_t>(i), 'x')}, {6, 0, "y"}}));
        ASSERT_TRUE(answer.changed) << i;
        known = answer.now;
        write_file(list(), "echo a\n");
        known.file = ask(store, append(known, "")).now.file;
    }
    EXPECT_EQ(version(*mine), version(*other));
}

TEST_P(Exchange, AnswersAForeignEditAndDoesNotOverwriteIt) {
    write_file(list(), "echo a\n");
    auto store = opened(list());
    const Version before = version(*store);
    write_file(list(), "echo a\necho b\n");
    Request request = rewriting(before, {{0, 0, "#"}});
    request.records = "record\n";
    const Answer answer = ask(*store, request);
    EXPECT_FALSE(answer.changed);
    EXPECT_EQ(answer.file, "echo a\necho b\n");
    EXPECT_EQ(answer.log, "");
    EXPECT_NE(answer.now.file, before.file);
    EXPECT_EQ(read_file(list()), "echo a\necho b\n");
    // The same bytes in another file are another edit.
    std::filesystem::copy_file(list(), list() + ".copy");
    std::filesystem::rename(list() + ".copy", list());
    EXPECT_TRUE(ask(*store, append(answer.now, "")).file.has_value());
}

TEST_P(Exchange, SendsTheListIfAsked) {
    write_file(list(), "echo a\n");
    auto store = opened(list());
    Request request;
    request.known = version(*store);
    EXPECT_FALSE(ask(*store, request).file.has_value());
    request.send_file = true;
    EXPECT_EQ(ask(*store, request).file, "echo a\n");
    request.records = "record\n";
    const Answer answer = ask(*store, request);
    EXPECT_TRUE(answer.changed);
    EXPECT_EQ(answer.file, "echo a\n");
}

TEST_P(Exchange, WhoFollowsTheLogNeedsNoListThatARewriteMade) {
    write_file(list(), "echo a\n");
    auto store = opened(list());
    auto other = opened(list());
    Request follow;
    follow.known = version(*other);
    follow.follows_log = true;
    Request change = rewriting(version(*store), {{0, 0, "#"}});
    change.records = "record\n";
    const Answer changed = ask(*store, change);
    ASSERT_TRUE(changed.changed);
    Answer answer = ask(*other, follow);
    EXPECT_EQ(answer.now, changed.now);
    EXPECT_FALSE(answer.file.has_value());
    EXPECT_EQ(answer.log, "record\nFILE " + changed.now.file + "\n");
    follow.known = answer.now;
    write_file(list(), "edited\n");
    answer = ask(*other, follow);
    EXPECT_EQ(answer.file, "edited\n");
}

TEST_P(Exchange, BeginsANewLog) {
    auto store = opened(list());
    const Version before = version(*store);
    Request request = append(before, "last\n");
    const Version second = ask(*store, request).now;
    request = append(second, "first\n");
    request.new_log = true;
    const Answer answer = ask(*store, request);
    EXPECT_TRUE(answer.changed);
    EXPECT_NE(answer.now.log, before.log);
    EXPECT_EQ(log_of(list()), "LOG " + answer.now.log + "\nfirst\n");
    EXPECT_EQ(answer.now.log_bytes, log_of(list()).size());
    const Answer late = ask(*store, append(second, "late\n"));
    EXPECT_FALSE(late.changed);
    EXPECT_TRUE(late.whole_log);
    EXPECT_EQ(late.log, log_of(list()));
}

TEST_P(Exchange, BeginsALogByItselfIfThereIsNone) {
    auto store = opened(list());
    const Version before = version(*store);
    std::filesystem::remove_all(list() + ".runtask");
    const Answer answer = ask(*store, append(before, "record\n"));
    EXPECT_FALSE(answer.changed);
    EXPECT_TRUE(answer.whole_log);
    EXPECT_NE(answer.now.log, before.log);
    write_file(list() + ".runtask/edits", "");
    const Answer again = ask(*store, append(answer.now, "record\n"));
    EXPECT_FALSE(again.changed);
    EXPECT_TRUE(ask(*store, append(again.now, "record\n")).changed);
    EXPECT_EQ(log_of(list()), "LOG " + again.now.log + "\nrecord\n");
}

TEST_P(Exchange, ARecordDoesNotContinueALineThatACrashCutOff) {
    auto store = opened(list());
    const Version before = version(*store);
    write_file(list() + ".runtask/edits", log_of(list()) + "half a rec");
    const Answer answer = ask(*store, append(before, "whole\n"));
    EXPECT_FALSE(answer.changed);
    EXPECT_EQ(answer.log, "half a rec");
    const Answer next = ask(*store, append(answer.now, "whole\n"));
    EXPECT_TRUE(next.changed);
    EXPECT_EQ(log_of(list()), "LOG " + before.log + "\nhalf a rec\nwhole\n");
    EXPECT_EQ(next.now.log_bytes, log_of(list()).size());
    EXPECT_TRUE(ask(*store, append(next.now, "more\n")).changed);
}

WQ_SOME_WAYS(Exchange);

}  // namespace
}  // namespace wq::shared_list::store
