// What put() leaves behind if memory runs out at any of its allocations.
#include <cstdlib>
#include <new>

#include "support.h"
#include "work_queue/job_executor.h"

namespace {
thread_local int allocations_left = -1;  // -1: no limit
}

void* operator new(std::size_t bytes) {
    if (allocations_left == 0) throw std::bad_alloc();
    if (allocations_left > 0) --allocations_left;
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace wq::executor_tests {
namespace {

class NoMemory : public NothingLeft {};

TEST_F(NoMemory, LeavesBatchAndExecutorAsTheyWere) {
    JobExecutor executor([](Batch in) { return in; }, 1, {.retries = 1});
    executor.start();
    int failures = 0;
    for (int job = 0; job < 20; ++job) {
        Batch batch = number(job);
        batch.set("text", std::string(5000, 't'));
        batch.set("a", Array::of<char>({100'000}));
        const std::byte* const place = batch.array("a").bytes().data();
        bool taken = false;
        for (int allocations = 0; !taken; ++allocations) {
            try {
                allocations_left = allocations;
                taken = executor.put(std::move(batch));
                allocations_left = -1;
                ASSERT_TRUE(taken);
            } catch (const std::bad_alloc&) {
                allocations_left = -1;
                ++failures;
                ASSERT_TRUE(executor.is_idle());
                ASSERT_EQ(batch.size(), 3U);
                // Nobody else is thought to see it.
                ASSERT_EQ(batch.array("a").mutable_bytes().data(), place);
            }
        }
        const auto result = executor.take(patience);
        ASSERT_TRUE(result && *result);
        EXPECT_EQ(result->value->integer("n"), job);
    }
    EXPECT_GE(failures, 20);
}

}  // namespace
}  // namespace wq::executor_tests
