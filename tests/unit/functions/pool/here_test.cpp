// Executors without workers, which run jobs in the program.
#include <thread>

#include "support.h"
#include "work_queue/job_executor.h"

namespace wq::executor_tests {
namespace {

using testing::IsEmpty;

class Here : public NothingLeft {};

TEST_F(Here, JobsRunWithoutWorkers) {
    Array kept = Array::of<char>({50000});
    JobExecutor executor(
        [](Batch in, const JobContext& context) {
            if (in.has("throw")) throw std::runtime_error("as asked");
            in.array("a").mutable_values<char>()[0] = 'w';
            in.set("pid", getpid());
            in.set("seed", context.seed);
            return in;
        },
        0, {.max_queue_size_pin_thread_per_worker = 2, .max_queue_size_pin = 1, .seed = 9});
    executor.start();
    EXPECT_THAT(processes(), IsEmpty());
    Batch batch;
    kept.mutable_values<char>()[0] = 'm';
    batch.set("a", kept);
    ASSERT_TRUE(executor.put(batch));
    batch.set("throw", 1);
    for (int results = 1; results < 10; ++results) {
        EXPECT_FALSE(executor.is_full());
        ASSERT_TRUE(executor.put(batch));
    }
    EXPECT_TRUE(executor.is_idle());
    const auto first = executor.take();
    ASSERT_TRUE(first && *first);
    EXPECT_EQ(first->value->integer("pid"), getpid());
    EXPECT_EQ(first->value->integer("seed"), 9);
    EXPECT_EQ(first->value->array("a").values<char>()[0], 'w');
    EXPECT_EQ(kept.values<char>()[0], 'm');
    for (int results = 1; results < 10; ++results) EXPECT_EQ(executor.take()->error, "as asked");
    EXPECT_FALSE(executor.take());
    executor.reset();
    executor.close();
    EXPECT_THROW(executor.put(batch), ExecutorClosed);
}

// As in a worker.
TEST_F(Here, OneJobRunsAtATimeUntilClose) {
    Gate began;
    JobExecutor<>* self = nullptr;
    JobExecutor executor(
        [&](Batch in, const JobContext& context) {
            in.set("puts", self->put(number(0)));
            began.open();
            while (!context.stopping()) std::this_thread::yield();
            return in;
        },
        0);
    self = &executor;
    executor.start();
    std::thread other([&] { EXPECT_TRUE(executor.put(number(1))); });
    began.pass();
    EXPECT_TRUE(executor.is_full());
    EXPECT_FALSE(executor.put(number(2)));
    executor.close(patience);
    other.join();
    const auto result = executor.take();
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(result->value->integer("n"), 1);
    EXPECT_EQ(result->value->integer("puts"), 0);
    EXPECT_FALSE(executor.take());
}

}  // namespace
}  // namespace wq::executor_tests
