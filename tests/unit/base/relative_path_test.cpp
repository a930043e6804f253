#include "base/relative_path.h"

#include <gtest/gtest.h>

namespace wq {
namespace {

TEST(RelativePath, StaysBelow) {
    EXPECT_EQ(relative_path("file"), "file");
    EXPECT_EQ(relative_path("./a//b/./c"), "a/b/c");
    EXPECT_EQ(relative_path("folder/"), "folder");
    EXPECT_EQ(relative_path("..a/b..\n"), "..a/b..\n");
    for (const std::string& bad :
         {std::string(), std::string("."), std::string("./"), std::string("/etc/passwd"), std::string("../x"),
          std::string("a/../../x"), std::string("a/.."), std::string("a\0b", 3), std::string(300, 'x'),
          std::string(5000, '/')})
        EXPECT_FALSE(relative_path(bad)) << bad;
}

}  // namespace
}  // namespace wq
