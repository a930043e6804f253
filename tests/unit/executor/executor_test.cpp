#include <gmock/gmock.h>

#include <chrono>

#include "work_queue/job_executor.h"

namespace wq {
namespace {

using std::chrono::seconds;

Batch number(std::int64_t value) {
    Batch batch;
    batch.set("n", value);
    return batch;
}

TEST(JobExecutor, RunsJobsInWorkers) {
    JobExecutor executor(
        [](Batch in) {
            Batch out;
            out.set("square", in.integer("n") * in.integer("n"));
            out.set("pid", getpid());
            return out;
        },
        2);
    executor.start();
    ASSERT_TRUE(executor.put(number(7)));
    const auto result = executor.take(seconds(60));
    ASSERT_TRUE(result);
    ASSERT_TRUE(*result) << result->error;
    EXPECT_EQ(result->value->integer("square"), 49);
    EXPECT_NE(result->value->integer("pid"), getpid());
    EXPECT_TRUE(executor.is_idle());
}

}  // namespace
}  // namespace wq
