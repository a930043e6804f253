#include "node/machine/allowance.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/folder.h"

namespace wq::node::machine {
namespace {

TEST(Allowance, OfThisProcessHasAtLeastAThread) {
    EXPECT_GT(Allowance::of_this_process().threads, 0U);
    EXPECT_EQ(what_is_less(Allowance::of_this_process(), Allowance::of_this_process()), "");
}

TEST(Allowance, LessIsToldAndMoreIsNot) {
    const Allowance before{8, 4.0, 8000};
    EXPECT_EQ(what_is_less(before, {7, 4.0, 8000}), "the worker may use 7 hardware threads now, 8 before");
    EXPECT_EQ(what_is_less(before, {8, 4.0, 2000}),
              "the worker's memory is limited to 2000 MB now, to 8000 MB before");
    EXPECT_EQ(what_is_less(before, {8, 1.5, 8000}),
              "the worker's CPU time is limited to 1.5 cores now, to 4 cores before");
    EXPECT_EQ(what_is_less({8, {}, {}}, {8, {}, 2000}),
              "the worker's memory is limited to 2000 MB now, not before");
    EXPECT_EQ(what_is_less(before, {16, {}, {}}), "") << "more is what a worker that comes later offers";
    EXPECT_EQ(what_is_less(before, {0, 4.0, 8000}), "") << "the mask could not be read";
}

class Groups : public testing::Test {
  protected:
    void write(const std::string& file, const std::string& text) {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }
    ControlGroupRoots roots() { return {root_ / "membership", root_ / "mount"}; }

    test::Folder made_;
    std::filesystem::path root_ = made_.path();
};

TEST_F(Groups, MemoryThatIsLeftIsThatOfTheNarrowestGroup) {
    write("membership", "0::/job/step\n");
    EXPECT_EQ(memory_left(roots()), std::nullopt);
    write("mount/job/step/memory.max", "max\n");
    write("mount/job/step/memory.current", "100\n");
    EXPECT_EQ(memory_left(roots()), std::nullopt);
    write("mount/job/memory.max", "10000\n");
    write("mount/job/memory.current", "4000\n");
    EXPECT_EQ(memory_left(roots()), 6000);
    write("mount/job/memory.stat", "anon 3000\nfile 900\ninactive_file 500\n");
    EXPECT_EQ(memory_left(roots()), 6500);
    write("mount/job/step/memory.max", "1000\n");
    EXPECT_EQ(memory_left(roots()), 900);
}

TEST_F(Groups, MemoryThatIsLeftInVersion1) {
    write("membership", "4:memory:/job\n");
    write("mount/memory/job/memory.limit_in_bytes", "10000\n");
    write("mount/memory/job/memory.usage_in_bytes", "9000\n");
    write("mount/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("mount/memory/memory.usage_in_bytes", "20000\n");
    write("mount/memory/job/memory.stat", "total_inactive_file 10\n");
    EXPECT_EQ(memory_left(roots()), 1010);
}

}  // namespace
}  // namespace wq::node::machine
