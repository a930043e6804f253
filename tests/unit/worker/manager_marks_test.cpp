#include "worker/manager_link.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/memory_file.h"

namespace wq::worker {
namespace {

TEST(ManagerMarks, AreFoundInMemory) {
    const std::array<std::string_view, 2> parts{"token", "\n"};
    const auto memory = MemoryFile::with(parts);
    ASSERT_TRUE(memory.has_value());
    EXPECT_TRUE(sees_memory(memory->path(), "token"));
    EXPECT_FALSE(sees_memory(memory->path(), "toke"));
    EXPECT_FALSE(sees_memory("/proc/self/fd/999999", "token"));
    EXPECT_FALSE(sees_memory("", ""));
    EXPECT_FALSE(sees_memory("/dev/null", ""));
}

TEST(ManagerMarks, AreFoundInFilesThatAreNoLinks) {
    const std::string path = ::testing::TempDir() + "mark." + std::to_string(::getpid());
    const std::string link = path + ".link";
    std::ofstream(path) << "token\n";
    std::filesystem::create_symlink(path, link);
    EXPECT_TRUE(sees_file(path, "token"));
    EXPECT_FALSE(sees_file(path, "other"));
    EXPECT_FALSE(sees_file(link, "token"));
    EXPECT_FALSE(sees_memory(path, "token")) << "it is a file";
    std::filesystem::remove(link);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace wq::worker
