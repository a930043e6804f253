// Folders that nobody holds any more are removed, and only those.
#include "host/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "unit/host/launcher_support.h"

namespace wq::host::test {
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
    auto scratch = ScratchFolder::make(parent / "made/if/missing");
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
    EXPECT_FALSE(ScratchFolder::make(parent / "file"));
    EXPECT_EQ(errno, ENOTDIR);
}

TEST(ScratchFolder, AnAbandonedOneIsRemovedALivingOneIsNot) {
    Folder parent;
    std::string abandoned;
    {
        const auto scratch = ScratchFolder::make(parent.path());
        ASSERT_TRUE(scratch);
        abandoned = scratch->path();
        std::filesystem::create_directory(abandoned + "/0");
        remove_abandoned_scratch(parent.path());
        EXPECT_TRUE(exists(abandoned)) << "it was held";
    }
    const auto living = ScratchFolder::make(parent.path());
    ASSERT_TRUE(living);
    remove_abandoned_scratch(parent.path());
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
    remove_abandoned_scratch(parent.path());
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
    remove_abandoned_scratch(parent.path());
    EXPECT_TRUE(exists(theirs));
}

TEST(ScratchFolder, AFolderThatIsNotThereIsNoError) {
    remove_abandoned_scratch("/no/such/folder");
}

}  // namespace
}  // namespace wq::host::test
