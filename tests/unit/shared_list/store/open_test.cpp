// Lists that cannot be used, and disks and users with limits, by each way to a list.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <functional>
#include <string>

#include "stores.h"
#include "support/ordinary_user.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;
using test::write_file;

class Opening : public EveryWay {
  protected:
    Error error_of(const std::string& file) {
        const Status status = masters_.store(GetParam(), file, {})->open();
        EXPECT_FALSE(status.ok()) << file;
        return status.ok() ? Error{ExitCode::ok, ""} : status.error();
    }
    void expect(const std::string& file, ExitCode code, const std::string& what) {
        const Error error = error_of(file);
        EXPECT_EQ(error.code, code) << error.message;
        EXPECT_NE(error.message.find(what), std::string::npos) << error.message;
        EXPECT_NE(error.message.find("; "), std::string::npos) << "no remedy: " << error.message;
        EXPECT_EQ(error.message.find('\n'), std::string::npos);
    }
    // Whether all expectations of `act` hold in a process that may change itself.
    static bool apart(const std::function<void()>& act) {
        const pid_t pid = fork();
        if (pid == 0) {
            act();
            std::fflush(stdout);
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        int status = -1;
        return waitpid(pid, &status, 0) == pid && status == 0;
    }
    static bool has_own_mounts() {
        return apart([] {
            const bool mounted =
                unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
            _exit(mounted ? 0 : 1);
        });
    }
};

TEST_P(Opening, NoList) {
    std::filesystem::create_directories(folder_ / "directory");
    ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    expect(folder_.path(), ExitCode::bad_input, "directory");
    expect(folder_ / "directory/", ExitCode::bad_input, "directory");
    expect(folder_ / "missing/", ExitCode::bad_input, "directory");
    expect(folder_ / "missing/list", ExitCode::bad_input, "list");
    expect(folder_ / "pipe", ExitCode::bad_input, "no regular file");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "missing"));
}

TEST_P(Opening, WhatAUserMayNotWrite) {
    if (GetParam() == Way::ssh && geteuid() == 0) GTEST_SKIP() << "sshd runs as root, who may";
    const std::string locked = folder_ / "locked";
    std::filesystem::create_directories(locked);
    write_file(locked + "/list", "a\n");
    write_file(list(), "a\n");
    chmod((locked + "/list").c_str(), 0666);
    chmod(locked.c_str(), 0555);
    chmod(list().c_str(), 0444);
    masters_.store(GetParam(), list(), {});  // makes what it needs
    EXPECT_TRUE(test::for_ordinary_user(folder_.path(), [&] {
        expect(list(), ExitCode::not_allowed, "permission");
        expect(locked + "/list", ExitCode::not_allowed, "permission");
        expect(locked + "/missing", ExitCode::not_allowed, "permission");
        return !HasFailure();
    }));
    chmod(locked.c_str(), 0755);
}

TEST_P(Opening, AnOwnerWhoCannotBeKeptStaysTheOwner) {
    if (geteuid() != 0 || GetParam() == Way::ssh) GTEST_SKIP() << "needs two users";
    write_file(list(), "a longer line\n");
    chmod(list().c_str(), 0666);
    struct stat before {};
    ASSERT_EQ(stat(list().c_str(), &before), 0);
    masters_.store(GetParam(), list(), {});
    EXPECT_TRUE(test::for_ordinary_user(folder_.path(), [&] {
        auto store = opened(list());
        const Answer answer = ask(*store, rewriting(version(*store), {{0, 2, "#"}}));
        EXPECT_TRUE(answer.changed);
        EXPECT_FALSE(ask(*store, append(answer.now, "")).file.has_value());
        return !HasFailure();
    }));
    struct stat after {};
    ASSERT_EQ(stat(list().c_str(), &after), 0);
    EXPECT_EQ(after.st_uid, 0U);
    EXPECT_EQ(after.st_ino, before.st_ino);
    EXPECT_EQ(read_file(list()), "#longer line\n");
}

TEST_P(Opening, AFullDiskChangesNothing) {
    if (geteuid() != 0 || !has_own_mounts()) GTEST_SKIP() << "no mounts of its own";
    EXPECT_TRUE(apart([&] {
        ASSERT_EQ(unshare(CLONE_NEWNS), 0);
        ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        ASSERT_EQ(mount("none", folder_.path().c_str(), "tmpfs", 0, "size=512k"), 0);
        Masters masters;  // an sshd that sees the mount
        write_file(list(), std::string(100'000, 'a') + "\n");
        auto store = masters.store(GetParam(), list(), {});
        ASSERT_TRUE(store->open().ok());
        const Version known = version(*store);
        write_file(folder_ / "filler", std::string(1'000'000, 'x'));
        for (const bool rewrites : {false, true}) {
            Request request = append(known, rewrites ? "" : std::string(200'000, 'r') + "\n");
            request.rewrite = rewrites;
            request.splices = {{0, 1, "b"}};
            const auto full = store->exchange(request);
            ASSERT_FALSE(full.ok());
            EXPECT_NE(full.error().code, ExitCode::unreachable) << full.error().message;
            EXPECT_NE(full.error().message.find("make room"), std::string::npos) << full.error().message;
            EXPECT_NE(full.error().message.find("No space"), std::string::npos) << full.error().message;
            EXPECT_EQ(version(*store), known);
        }
        // Shorter records go another way through a shell.
        auto full = store->exchange(append(known, std::string(8'000, 's') + "\n"));
        EXPECT_TRUE(full.ok() ? full->changed : full.error().message.find("make room") != std::string::npos);
        const Version then = full.ok() ? full->now : known;
        EXPECT_EQ(version(*store), then);
        std::filesystem::remove(folder_ / "filler");
        const Answer answer = ask(*store, rewriting(then, {{0, 1, "b"}}));
        EXPECT_TRUE(answer.changed);
        EXPECT_EQ(read_file(list()), "b" + std::string(99'999, 'a') + "\n");
        umount2(folder_.path().c_str(), MNT_DETACH);
    }));
}

WQ_WAYS_OF_UTILITIES(Opening);

}  // namespace
}  // namespace wq::shared_list::store
