#include "programs/slices/audit.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace wq::programs::slices {
namespace {

TEST(SlicesPlan, IsALineForEachSlice) {
    Options options;
    options.works = {"a"};
    options.slices.must_exist = false;
    options.slices.seed = 7;
    options.slices.shuffle = false;
    options.slices.commit_by_hand = true;
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* const out = open_memstream(&text, &bytes);
    explain(options, out);
    std::fclose(out);
    EXPECT_STREQ(text, "# 1 slice an epoch, 1 epoch, in order, seed 7\n# position\tepoch\tslice\n0\t0\ta\n");
    std::free(text);
}

}  // namespace
}  // namespace wq::programs::slices
