#include "api/program_recorder.h"

#include <gtest/gtest.h>

namespace wq::api {
namespace {

// A worker may say of each of its ranges that it took a century.
TEST(RangeGather, TimesThatSumUpToMoreThanThereIsAreTheMostThatThereIs) {
    RangeGather gather;
    for (std::uint64_t task = 0; task < 3; ++task) {
        records::journal::RangeRecord record;
        record.tasks.insert({task, task + 1});
        record.wall_us = record.user_us = record.system_us = INT64_MAX / 2;
        gather.add(0, record);
    }
    const auto taken = gather.take();
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].tasks.count(), 3U);
    for (const std::int64_t sum : {taken[0].wall_us, taken[0].user_us, taken[0].system_us})
        EXPECT_EQ(sum, INT64_MAX);
}

}  // namespace
}  // namespace wq::api
