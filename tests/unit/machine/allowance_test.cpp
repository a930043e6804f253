#include "machine/allowance.h"

#include <gtest/gtest.h>

namespace wq::machine {
namespace {

TEST(Allowance, OfThisProcessHasAtLeastAThread) {
    EXPECT_GT(Allowance::of_this_process().threads, 0U);
    EXPECT_EQ(what_is_less(Allowance::of_this_process(), Allowance::of_this_process()), "");
}

TEST(Allowance, LessIsToldAndMoreIsNot) {
    const Allowance before{8, 4.0, 8000};
    EXPECT_EQ(what_is_less(before, {7, 4.0, 8000}), "it may use 7 hardware threads now, 8 before");
    EXPECT_EQ(what_is_less(before, {8, 4.0, 2000}),
              "its memory is limited to 2000 MB now, to 8000 MB before");
    EXPECT_EQ(what_is_less(before, {8, 1.5, 8000}),
              "its CPU time is limited to 1.5 cores now, to 4 cores before");
    EXPECT_EQ(what_is_less({8, {}, {}}, {8, {}, 2000}), "its memory is limited to 2000 MB now, not before");
    EXPECT_EQ(what_is_less(before, {16, {}, {}}), "") << "more is what a worker that comes later offers";
    EXPECT_EQ(what_is_less(before, {0, 4.0, 8000}), "") << "the mask could not be read";
}

}  // namespace
}  // namespace wq::machine
