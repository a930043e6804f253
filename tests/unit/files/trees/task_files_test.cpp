#include "files/trees/task_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/folder.h"

namespace wq::files::trees {
namespace {

using wq::test::Folder;
using wq::test::read_file;

TEST(TaskFiles, OfOneNameAreNoTask) {
    const auto input = [](const std::string& name) {
        return InputFile{InputSource::file, "/x", {}, name, false};
    };
    const auto output = [](const std::string& name, const std::string& to) { return OutputFile{name, to}; };
    EXPECT_FALSE(conflict({{input("a"), input("b")}, {output("c", "1"), output("d", "2")}}));
    EXPECT_TRUE(conflict({{input("a/b"), input("a")}, {}}));
    EXPECT_FALSE(conflict({{input("a-b"), input("a"), input("ab/c")}, {output("a/c", "1")}}));
    EXPECT_EQ(conflict({{input("a"), input("a")}, {}}), "two input files have the name 'a'");
    EXPECT_TRUE(conflict({{input("a")}, {output("a", "1")}}));
    EXPECT_TRUE(conflict({{}, {output("a", "1"), output("a", "2")}}));
    EXPECT_EQ(conflict({{}, {output("a", "1"), output("b", "1")}}),
              "two output files have the destination '1'");
}

TEST(TaskFiles, ForAPlatform) {
    EXPECT_EQ(for_platform("my-exe.$OS.$ARCH", "Linux", "x86_64"), "my-exe.Linux.x86_64");
    EXPECT_EQ(for_platform("$OS/$HOME/a$", "Linux", "x86_64"), "Linux/$HOME/a$");
}

TEST(TaskFiles, ACommandLeavesWhatItMakes) {
    Folder place;
    const std::string path = place / "it's made";
    for (const std::string line :
         {"echo some text > %%", "echo some text", "echo some text # said", "cat <<E\nsome text\nE"}) {
        std::remove(path.c_str());
        ASSERT_EQ(std::system(command_into(line, path).c_str()), 0) << line;
        EXPECT_EQ(read_file(path), "some text\n") << line;
    }
    EXPECT_NE(std::system(command_into("false", path).c_str()), 0);
}

}  // namespace
}  // namespace wq::files::trees
