// Folders that nobody holds any more are removed, and only those.
#include "node/process/scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "support/ordinary_user.h"
#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

bool exists(const std::string& path) {
    return std::filesystem::exists(path);
}

// A folder as make() leaves it, whose lock file holds `host`; nobody holds the lock.
std::string folder_of(const Folder& parent, const std::string& name, const std::string& host) {
    std::filesystem::create_directory(parent / name);
    std::ofstream(parent / name + "/work_queue.lock") << host;
    return parent / name;
}

TEST(ScratchFolder, IsPrivateAndGoesWithAllThatIsInIt) {
    Folder parent;
    auto scratch = process::ScratchFolder::make(parent / "made/if/missing");
    ASSERT_TRUE(scratch);
    const std::string path = scratch->path();
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0700u);
    std::filesystem::create_directories(path + "/0/deep");
    scratch->remove();
    EXPECT_FALSE(exists(path));
    EXPECT_EQ(scratch->path(), "");
}

TEST(ScratchFolder, SaysByErrnoWhyThereIsNone) {
    Folder parent;
    std::ofstream(parent / "file") << "text";
    EXPECT_FALSE(process::ScratchFolder::make(parent / "file"));
    EXPECT_EQ(errno, ENOTDIR);
}

TEST(ScratchFolder, AnAbandonedOneIsRemovedALivingOneIsNot) {
    Folder parent;
    std::string abandoned;
    {
        const auto scratch = process::ScratchFolder::make(parent.path());
        ASSERT_TRUE(scratch);
        abandoned = scratch->path();
        std::filesystem::create_directory(abandoned + "/0");
        process::remove_abandoned_scratch(parent.path());
        EXPECT_TRUE(exists(abandoned)) << "it was held";
    }
    const auto living = process::ScratchFolder::make(parent.path());
    ASSERT_TRUE(living);
    process::remove_abandoned_scratch(parent.path());
    EXPECT_FALSE(exists(abandoned));
    EXPECT_TRUE(exists(living->path()));
}

TEST(ScratchFolder, WhatIsNotThisHostsIsLetBe) {
    Folder parent;
    const std::string users = parent / "work_queue.backup";
    std::filesystem::create_directory(users);
    const std::string being_made = folder_of(parent, "work_queue.Being1", "");
    const std::string elsewhere = folder_of(parent, "work_queue.Other2", "another-host");
    std::string here(256, '\0');
    ASSERT_EQ(gethostname(here.data(), here.size()), 0);
    const std::string other_name = folder_of(parent, "my_work", here.c_str());
    const std::string ours = folder_of(parent, "work_queue.Ours03", here.c_str());
    process::remove_abandoned_scratch(parent.path());
    EXPECT_TRUE(exists(users));
    EXPECT_TRUE(exists(being_made));
    EXPECT_TRUE(exists(elsewhere));
    EXPECT_TRUE(exists(other_name));
    EXPECT_FALSE(exists(ours));
}

TEST(ScratchFolder, WhatAnotherUserOwnsIsLetBe) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    Folder parent;
    std::string here(256, '\0');
    ASSERT_EQ(gethostname(here.data(), here.size()), 0);
    const std::string theirs = folder_of(parent, "work_queue.Theirs", here.c_str());
    ASSERT_EQ(chown((theirs + "/work_queue.lock").c_str(), 65534, 65534), 0);
    process::remove_abandoned_scratch(parent.path());
    EXPECT_TRUE(exists(theirs));
}

TEST(ScratchFolder, GoesWithFoldersThatForbidIt) {
    Folder parent;
    EXPECT_TRUE(wq::test::for_ordinary_user(parent.path(), [] {
        auto scratch = process::ScratchFolder::make(".");
        if (!scratch) return false;
        const std::string path = scratch->path();
        std::filesystem::create_directories(path + "/0/deep/deeper");
        std::ofstream(path + "/0/deep/deeper/file") << "text";
        for (const char* forbidding : {"/0/deep/deeper", "/0/deep", "/0", ""})
            if (chmod((path + forbidding).c_str(), 0500) != 0) return false;
        scratch->remove();
        return !exists(path);
    }));
}

TEST(ScratchFolder, IsKnownAsAbandonedUntilAllOfItIsRemoved) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make what its owner cannot remove";
    Folder parent;
    std::string here(256, '\0');
    ASSERT_EQ(gethostname(here.data(), here.size()), 0);
    const std::string abandoned = folder_of(parent, "work_queue.Ours04", here.c_str());
    const std::string lock = abandoned + "/work_queue.lock";
    const std::string stays = abandoned + "/stays";
    std::filesystem::create_directory(stays);
    std::ofstream(stays + "/file") << "text";
    for (const std::string& path : {abandoned, lock})
        ASSERT_EQ(chown(path.c_str(), wq::test::ordinary_user, wq::test::ordinary_user), 0);
    const auto remove = [] {
        process::remove_abandoned_scratch(".");
        return true;
    };
    ASSERT_TRUE(wq::test::for_ordinary_user(parent.path(), remove));
    EXPECT_TRUE(exists(stays));
    EXPECT_TRUE(exists(lock)) << "nobody would come back for the rest";
    ASSERT_EQ(chown(stays.c_str(), wq::test::ordinary_user, wq::test::ordinary_user), 0);
    ASSERT_TRUE(wq::test::for_ordinary_user(parent.path(), remove));
    EXPECT_FALSE(exists(abandoned));
}

TEST(ScratchFolder, AFolderThatIsNotThereIsNoError) {
    process::remove_abandoned_scratch("/no/such/folder");
}

}  // namespace
}  // namespace wq::node::launcher::test
