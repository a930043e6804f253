// Who had the list open when it was rewritten, and appends to it afterwards, loses nothing.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

#include "base/descriptor.h"
#include "stores.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;
using test::write_file;

class OldLists : public EveryWay {
  protected:
    static Descriptor opened_for_appending(const std::string& path) {
        return Descriptor(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    }
    static void write_to(const Descriptor& file, const std::string& text) {
        ASSERT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    std::string old(const std::string& name) const { return list() + ".runtask/old/" + name; }
    std::size_t kept() const {
        std::size_t count = 0;
        for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(list() + ".runtask/old"))
            ++count;
        return count;
    }
};

TEST_P(OldLists, WhatIsAppendedToOneIsAnsweredUntilItIsCopied) {
    write_file(list(), "a\n");
    auto store = opened(list());
    const Descriptor late = opened_for_appending(list());
    Answer answer = ask(*store, rewriting(version(*store), {{0, 0, "#"}}));
    ASSERT_TRUE(answer.changed);
    EXPECT_TRUE(answer.old.empty());
    write_to(late, "b\nc");
    answer = ask(*store, append(answer.now, ""));
    ASSERT_EQ(answer.old.size(), 1U);
    EXPECT_EQ(answer.old[0].appended, "b\n");
    // It stays until it is copied, and others see it as well.
    EXPECT_EQ(ask(*opened(list()), Request{}).old.size(), 1U);
    Request request = append(answer.now, "copied\n");
    request.copied_old = {answer.old[0].name};
    answer = ask(*store, request);
    ASSERT_TRUE(answer.changed);
    answer = ask(*store, append(answer.now, ""));
    EXPECT_TRUE(answer.old.empty());
    write_to(late, "c\n");
    answer = ask(*store, append(answer.now, ""));
    ASSERT_EQ(answer.old.size(), 1U);
    EXPECT_EQ(answer.old[0].appended, "cc\n");
}

// The list was replaced amid a line: its end alone is no command.
TEST_P(OldLists, ALineThatWasBegunBeforeIsAnsweredWhole) {
    for (const std::string& begun : {std::string("echo tw"), std::string(100'000, 'x')}) {
        write_file(list(), "a\n" + begun);
        auto store = opened(list());
        const Descriptor late = opened_for_appending(list());
        Answer answer = ask(*store, rewriting(version(*store), {{0, 0, "#"}}));
        ASSERT_TRUE(answer.changed);
        write_to(late, "o-end");
        EXPECT_TRUE(ask(*store, append(answer.now, "")).old.empty());
        write_to(late, "\necho three\n");
        answer = ask(*store, append(answer.now, ""));
        ASSERT_EQ(answer.old.size(), 1U);
        EXPECT_EQ(answer.old[0].appended, begun + "o-end\necho three\n");
        Request request = append(answer.now, "copied\n");
        request.copied_old = {answer.old[0].name};
        answer = ask(*store, request);
        ASSERT_TRUE(answer.changed);
        write_to(late, "more\n");
        answer = ask(*store, append(answer.now, ""));
        ASSERT_EQ(answer.old.size(), 1U);
        EXPECT_EQ(answer.old[0].appended, "more\n");
        request = append(answer.now, "copied\n");
        request.copied_old = {answer.old[0].name};
        ASSERT_TRUE(ask(*store, request).changed);
    }
}

TEST_P(OldLists, OneThatIsCopiedByAnotherIsNotCopiedTwice) {
    write_file(list(), "a\n");
    auto store = opened(list());
    auto other = opened(list());
    const Descriptor late = opened_for_appending(list());
    ASSERT_TRUE(ask(*store, rewriting(version(*store), {{0, 0, "#"}})).changed);
    write_to(late, "b\n");
    const Answer seen = ask(*store, Request{});
    const Answer seen_too = ask(*other, Request{});
    Request request = append(seen.now, "copied\n");
    request.copied_old = {seen.old.at(0).name};
    EXPECT_TRUE(ask(*store, request).changed);
    const Answer answer = ask(*other, request);
    EXPECT_FALSE(answer.changed);
    EXPECT_TRUE(answer.old.empty());
    EXPECT_EQ(seen_too.old.at(0).name, seen.old.at(0).name);
}

TEST_P(OldLists, EachIsKeptForAWhileHoweverOftenTheListIsRewritten) {
    write_file(list(), "a\n");
    auto store = opened(list());
    Answer answer = ask(*store, Request{});
    const Descriptor first = opened_for_appending(list());
    for (int i = 0; i < 40; ++i) {
        answer = ask(*store, rewriting(answer.now, {{0, 0, "#"}}));
        ASSERT_TRUE(answer.changed) << i;
    }
    EXPECT_EQ(kept(), 40U);
    // So that workers do it less often.
    EXPECT_GE(answer.rewriting, std::chrono::milliseconds(80));
    write_to(first, "b\n");
    answer = ask(*store, append(answer.now, ""));
    ASSERT_EQ(answer.old.size(), 1U);
    EXPECT_EQ(answer.old[0].appended, "b\n");
}

TEST_P(OldLists, TheOldestGoIfTheyAreTooMany) {
    write_file(list(), "a\n");
    auto store = opened(list());
    Answer answer = ask(*store, Request{});
    for (int i = 1; i <= 520; ++i) write_file(old(std::to_string(i) + ".2"), i == 3 ? "a\nb\n" : "a\n");
    answer = ask(*store, rewriting(answer.now, {{0, 0, "#"}}));
    ASSERT_TRUE(answer.changed);
    EXPECT_EQ(kept(), 512U);
    EXPECT_FALSE(std::filesystem::exists(old("2.2")));
    EXPECT_TRUE(std::filesystem::exists(old("521.2")));
    // Not that one: its bytes are nowhere else.
    answer = ask(*store, append(answer.now, ""));
    ASSERT_EQ(answer.old.size(), 1U);
    EXPECT_EQ(answer.old[0].appended, "b\n");
}

TEST_P(OldLists, TheOldestGoIfTheyTakeTooMuchRoom) {
    write_file(list(), "a\n");
    auto store = opened(list());
    Answer answer = ask(*store, Request{});
    for (const std::string number : {"1", "2", "3"}) {
        write_file(old(number + ".104857600"), "");
        std::filesystem::resize_file(old(number + ".104857600"), 100 << 20);
    }
    answer = ask(*store, rewriting(answer.now, {{0, 0, "#"}}));
    ASSERT_TRUE(answer.changed);
    EXPECT_EQ(kept(), 3U);
    EXPECT_FALSE(std::filesystem::exists(old("1.104857600")));
}

TEST_P(OldLists, ALinkThatACrashLeftIsTheListItself) {
    write_file(list(), "a\n");
    auto store = opened(list());
    Answer answer = ask(*store, Request{});
    std::filesystem::create_hard_link(list(), list() + ".runtask/old/1.2");
    const Descriptor late = opened_for_appending(list());
    write_to(late, "b\n");
    answer = ask(*store, Request{});
    EXPECT_TRUE(answer.old.empty());
    EXPECT_EQ(answer.file, "a\nb\n");
    answer = ask(*store, rewriting(answer.now, {{0, 0, "#"}}));
    ASSERT_TRUE(answer.changed);
    EXPECT_TRUE(answer.old.empty());
    EXPECT_EQ(std::filesystem::hard_link_count(list()), 1U);  // renamed over, not written over
    write_to(late, "c\n");
    answer = ask(*store, append(answer.now, ""));
    ASSERT_EQ(answer.old.size(), 1U);
    EXPECT_EQ(answer.old[0].appended, "c\n");
}

WQ_SOME_WAYS(OldLists);

TEST(OldFilesOfAHelper, GoAfterAWhileButAFew) {
    if (where_is("flock").empty()) GTEST_SKIP() << "no flock";
    const test::Folder folder;
    const std::string list = folder / "tasks.sh";
    const Programs programs;
    for (const std::string& name : utilities())
        if (name != "find") programs.link_all({name});
    // Finds that all are old.
    write_program(programs.path() + "/find", "#!/bin/sh\nfor file in *; do echo \"./$file\"; done\n");
    ssh::SshStore store("master", list, {}, fake_ssh("sh", programs.path()));
    ASSERT_TRUE(store.open().ok());
    for (int i = 1; i <= 40; ++i) write_file(list + ".runtask/old/" + std::to_string(i) + ".0", "");
    const auto known = store.exchange({});
    ASSERT_TRUE(known.ok());
    Request request;
    request.known = known->now;
    request.rewrite = true;
    ASSERT_TRUE(store.exchange(request).ok());
    EXPECT_FALSE(std::filesystem::exists(list + ".runtask/old/9.0"));
    EXPECT_TRUE(std::filesystem::exists(list + ".runtask/old/10.0"));
    EXPECT_TRUE(std::filesystem::exists(list + ".runtask/old/41.0"));
}

}  // namespace
}  // namespace wq::shared_list::store
