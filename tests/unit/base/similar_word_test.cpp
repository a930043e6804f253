#include "base/similar_word.h"

#include <gtest/gtest.h>

namespace wq {
namespace {

TEST(SimilarWord, HasFewOtherLettersOrIsTheOnlyOneThatBeginsSo) {
    const std::vector<std::string_view> names{"--memory", "--max-workers", "--min-workers", "--cores"};
    EXPECT_EQ(most_similar("--memroy", names), "--memory");
    EXPECT_EQ(most_similar("--mem", names), "--memory");
    EXPECT_EQ(most_similar("--min-worker", names), "--min-workers");
    EXPECT_EQ(most_similar("--m", names), "") << "three begin so";
    EXPECT_EQ(most_similar("--", names), "");
    EXPECT_EQ(most_similar("--something-else", names), "");
}

}  // namespace
}  // namespace wq
