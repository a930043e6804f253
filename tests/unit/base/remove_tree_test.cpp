// What is removed goes whole, and nothing else goes.
#include "base/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/folder.h"
#include "support/ordinary_user.h"

namespace wq {
namespace {

using test::Folder;

bool exists(const std::string& path) {
    return std::filesystem::exists(path);
}

TEST(RemoveTree, RemovesWhatForbidsIt) {
    Folder place;
    EXPECT_TRUE(test::for_ordinary_user(place.path(), [] {
        std::filesystem::create_directories("t/a/b");
        std::ofstream("t/a/b/file") << "";
        std::ofstream("kept") << "";
        std::filesystem::create_symlink("../kept", "t/link");
        if (chmod("t/a/b", 0) != 0 || chmod("t/a", 0500) != 0) return false;
        remove_tree(AT_FDCWD, "t");
        return true;
    }));
    EXPECT_FALSE(exists(place / "t"));
    EXPECT_TRUE(exists(place / "kept"));
}

TEST(RemoveTree, RemovesAtMostSoMany) {
    Folder place;
    std::filesystem::create_directories(place / "t/a");
    std::ofstream(place / "t/a/file") << "";
    std::ofstream(place / "t/b") << "";
    std::size_t most = 1;
    EXPECT_FALSE(remove_some(AT_FDCWD, place / "t", most));
    EXPECT_EQ(most, 0u);
    EXPECT_TRUE(exists(place / "t"));
    most = 10;
    EXPECT_TRUE(remove_some(AT_FDCWD, place / "t", most));
    EXPECT_FALSE(exists(place / "t"));
}

TEST(RemoveTree, RemovesAFolderWithWhatIsToBeTheLastOfIt) {
    Folder place;
    std::filesystem::create_directories(place / "t/a");
    std::ofstream(place / "t/last") << "";
    remove_folder(place / "t", "last");
    EXPECT_FALSE(exists(place / "t"));
}

}  // namespace
}  // namespace wq
