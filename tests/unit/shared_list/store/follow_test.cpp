// What a helper spares itself must not be missed: edits, old files, and much that is new.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "base/descriptor.h"
#include "stores.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;
using test::write_file;

class Following : public EveryWay {
  protected:
    // System calls of a process, without its children.
    static long reads_of(pid_t process) {
        const std::string counts = read_file("/proc/" + std::to_string(process) + "/io");
        const std::size_t at = counts.find("syscr: ");
        return at == std::string::npos ? -1 : std::atol(counts.c_str() + at + 7);
    }
    Version after_appends(ListStore& store, int count) {
        Version known = version(store);
        for (int i = 0; i < count; ++i) {
            const Answer answer = ask(store, append(known, "record " + std::to_string(i) + "\n"));
            EXPECT_TRUE(answer.changed) << i;
            known = answer.now;
        }
        return known;
    }
};

TEST_P(Following, AnEditOfTheSameSizeIsSeen) {
    write_file(list(), "echo a\n");
    auto store = opened(list());
    Version known = after_appends(*store, 6);
    write_file(list(), "echo b\n");
    Answer answer = ask(*store, append(known, "record\n"));
    EXPECT_FALSE(answer.changed);
    EXPECT_EQ(answer.file, "echo b\n");
    known = after_appends(*store, 6);
    // Another file with the same time.
    write_file(list() + ".new", "echo c\n");
    std::filesystem::last_write_time(list() + ".new", std::filesystem::last_write_time(list()));
    std::filesystem::rename(list() + ".new", list());
    answer = ask(*store, append(known, "record\n"));
    EXPECT_FALSE(answer.changed);
    EXPECT_EQ(answer.file, "echo c\n");
    // An older file.
    known = after_appends(*store, 6);
    write_file(list(), "echo d\n");
    std::filesystem::last_write_time(list(),
                                     std::filesystem::last_write_time(list()) - std::chrono::hours(1));
    EXPECT_FALSE(ask(*store, append(known, "record\n")).changed);
}

TEST_P(Following, AnOldFileIsSeenInTheEnd) {
    write_file(list(), "echo a\n");
    auto store = opened(list());
    const Descriptor late(open(list().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    Answer answer = ask(*store, rewriting(version(*store), {{0, 0, "#"}}));
    for (int i = 0; i < 4; ++i) answer = ask(*store, append(answer.now, "record\n"));
    ASSERT_EQ(write(late.get(), "b\n", 2), 2);
    for (int i = 0; i < 30 && answer.old.empty(); ++i) {
        answer = ask(*store, append(answer.now, "record\n"));
        ASSERT_TRUE(answer.changed);
    }
    ASSERT_EQ(answer.old.size(), 1U);
    EXPECT_EQ(answer.old[0].appended, "b\n");
}

TEST_P(Following, MuchThatIsNewIsAnsweredOnce) {
    auto store = opened(list());
    auto other = opened(list());
    for (const std::size_t bytes : {10U, 300U, 20'000U, is_long ? 400'000U : 40'000U}) {
        const Version known = after_appends(*store, 3);
        std::string news;
        Version theirs = version(*other);
        for (int i = 0; i < 3; ++i) {
            const std::string records = std::string(bytes, static_cast<char>('a' + i)) + "\n\nx\n";
            theirs = ask(*other, append(theirs, records)).now;
            news += records;
        }
        Answer answer = ask(*store, append(known, "late\n"));
        EXPECT_FALSE(answer.changed);
        EXPECT_FALSE(answer.whole_log);
        std::string got = answer.log;
        // It may come in parts.
        for (int i = 0; i < 100 && got.size() < news.size(); ++i) {
            answer = ask(*store, append(answer.now, ""));
            got += answer.log;
        }
        EXPECT_TRUE(got == news) << bytes;
        EXPECT_EQ(answer.now, theirs);
        EXPECT_TRUE(ask(*store, append(answer.now, "in time\n")).changed);
    }
}

// Byte by byte, a megabyte takes a shell half a second.
TEST_P(Following, ALongRecordIsNotReadByteByByte) {
    if (GetParam() == Way::local || GetParam() == Way::ssh) GTEST_SKIP() << "no helper below this process";
    for (const Way way : {Way::local, GetParam()}) {
        auto other = opened(way, list());
        version(*other);
        const auto before = test::SshServer::children_of(getpid());
        auto store = opened(list());
        const Version known = after_appends(*store, 2);
        pid_t helper = 0;
        for (const pid_t child : test::SshServer::children_of(getpid()))
            if (std::find(before.begin(), before.end(), child) == before.end()) helper = child;
        Request request;
        request.known = version(*other);
        request.records = std::string(300'000, 'a') + "\n";
        ASSERT_TRUE(ask(*other, request).changed);
        const long reads = reads_of(helper);
        Answer answer = ask(*store, append(known, "late\n"));
        EXPECT_FALSE(answer.changed);
        EXPECT_TRUE(answer.log == request.records);
        EXPECT_LT(reads_of(helper) - reads, 50'000);
        // What comes after it is followed as before.
        const Version seen = answer.now;
        ASSERT_TRUE(ask(*other, append(version(*other), "short\n")).changed);
        answer = ask(*store, append(seen, "late\n"));
        EXPECT_FALSE(answer.changed);
        EXPECT_EQ(answer.log, "short\n");
        EXPECT_TRUE(ask(*store, append(answer.now, "in time\n")).changed);
    }
}

TEST_P(Following, TheListThatAnotherRewroteIsKnownByTheLog) {
    write_file(list(), "echo a\n");
    auto store = opened(list());
    auto other = opened(list());
    Request late = append(after_appends(*store, 4), "late\n");
    late.follows_log = true;
    const Answer theirs = ask(*other, rewriting(version(*other), {{0, 0, "#"}}));
    Answer answer = ask(*store, late);
    EXPECT_FALSE(answer.changed);
    EXPECT_EQ(answer.now, theirs.now);
    EXPECT_EQ(answer.log, "FILE " + theirs.now.file + "\n");
    EXPECT_FALSE(answer.file.has_value());
    late.known = answer.now;
    EXPECT_TRUE(ask(*store, late).changed);
}

TEST_P(Following, ALockFileThatIsReplacedIsLockedAnew) {
    auto store = opened(list());
    Version known = after_appends(*store, 2);
    auto other = masters_.store(Way::local, list(), {});
    ASSERT_TRUE(other->open().ok());
    auto held = other->hold();
    ASSERT_TRUE(held.ok());
    std::filesystem::remove(list() + ".lock");
    EXPECT_TRUE(ask(*store, append(known, "record\n")).changed);
}

WQ_SOME_WAYS(Following);

// Else it would not be seen before the next edit. The append comes as soon as the new list has its name:
// while appends never ended, a slow fsync() let no rewriting through, and the test did not end.
TEST(LocalRewriting, WhatIsAppendedMeanwhileIsNoPartOfTheNewList) {
    const test::Folder folder;
    const std::string list = folder / "list";
    write_file(list, "a\n");
    LocalStore store(list, {});
    ASSERT_TRUE(store.open().ok());
    const auto inode = [&] { return stat_of(list).value().st_ino; };
    Request request;
    request.rewrite = true;
    request.splices = {{0, 0, "#"}};
    for (int made = 1; made <= 10; ++made) {
        request.known = store.exchange({})->now;
        std::atomic<bool> over = false;
        std::thread appends([&, old = inode()] {
            while (inode() == old && !over) std::this_thread::yield();
            const Descriptor file(open(list.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
            EXPECT_EQ(write(file.get(), "b\n", 2), 2);
        });
        const auto answer = store.exchange(request);
        over = true;
        appends.join();
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_TRUE(answer->changed) << made;
        EXPECT_TRUE(read_file(list + ".runtask/edits").ends_with("FILE " + answer->now.file + "\n")) << made;
        EXPECT_NE(store.exchange({})->now, answer->now) << made;
    }
}

TEST(Locks, AFlockThatFailsAtOnceWithATimeLimitWaitsWithoutOne) {
    const Programs programs;
    for (const std::string& name : utilities())
        if (name != "flock") programs.link_all({name});
    write_program(programs.path() + "/flock",
                  "#!/bin/sh\n[ \"$1\" != -w ] || exit 1\nexec " + where_is("flock") + " \"$@\"\n");
    const test::Folder folder;
    Heard heard;
    ssh::SshStore store("master", folder / "list", heard.say(), fake_ssh("sh", programs.path()));
    LocalStore other(folder / "list", {});
    ASSERT_TRUE(store.open().ok());
    ASSERT_TRUE(other.open().ok());
    auto held = other.hold();
    ASSERT_TRUE(held.ok());
    std::thread waits([&] { EXPECT_TRUE(store.exchange({}).ok()); });
    heard.wait_for(1);
    held->reset();
    waits.join();
}

TEST(Locks, ThatDoNotWorkAreSaid) {
    const Programs programs;
    for (const std::string& name : utilities())
        if (name != "flock") programs.link_all({name});
    write_program(programs.path() + "/flock",
                  "#!/bin/sh\necho 'flock: 9: No locks available' >&2\nexit 71\n");
    const test::Folder folder;
    ssh::SshStore store("master", folder / "list", {}, fake_ssh("sh", programs.path()));
    ASSERT_TRUE(store.open().ok());
    const auto answer = store.exchange({});
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(answer.error().message.find("No locks available"), std::string::npos) << answer.error().message;
    EXPECT_NE(answer.error().message.find("local disk"), std::string::npos) << answer.error().message;
}

}  // namespace
}  // namespace wq::shared_list::store
