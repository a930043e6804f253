#include "core/resources.h"

#include <gmock/gmock.h>

#include "core/outcome.h"

namespace wq::core {
namespace {

Resources leases(const Resources& whole, const Needs& needs, std::int64_t count) {
    Resources used;
    for (std::int64_t i = 0; i < count; ++i) used += allocate(needs, whole);
    return used;
}

TEST(Allocate, SharesOfOneNthFillTheWorkerForEveryN) {
    for (std::int64_t n = 1; n <= 300; ++n) {
        for (const std::int64_t memory : {n, 1000 + n, std::int64_t{64'000}, std::int64_t{1} << 40}) {
            const Resources whole{n, memory, 500, 0};
            EXPECT_TRUE(leases(whole, {}, n).fits_in(whole)) << n << " tasks of 1/" << n;
            EXPECT_FALSE(leases(whole, {}, n + 1).fits_in(whole)) << n + 1 << " tasks of 1/" << n;
            // Nothing but the rounding is left over.
            EXPECT_LT(memory - leases(whole, {}, n).memory_mb, n);
        }
    }
}

TEST(Allocate, GivesWhatIsSaidAndDefaultsForTheRest) {
    const Resources whole{8, 8000, 100, 2};
    EXPECT_EQ(allocate({}, whole), (Resources{1, 1000, 0, 0}));
    EXPECT_EQ(allocate({.cores = 3}, whole), (Resources{3, 3000, 0, 0}));
    EXPECT_EQ(allocate({.memory_mb = 5}, whole), (Resources{1, 5, 0, 0}));
    EXPECT_EQ(allocate({.gpus = 1}, whole), (Resources{0, 0, 0, 1}));
    EXPECT_EQ(allocate({.cores = 2, .disk_mb = 10, .gpus = 1}, whole), (Resources{2, 2000, 10, 1}));
    // More cores than there are fit nowhere, and ask for all of the memory, not for more.
    EXPECT_EQ(allocate({.cores = 16}, whole), (Resources{16, 8000, 0, 0}));
    EXPECT_FALSE(allocate({.cores = 16}, whole).fits_in(whole));
    EXPECT_EQ(allocate({}, Resources{}), (Resources{1, 0, 0, 0}));
}

TEST(Describe, SaysWhatThereIs) {
    EXPECT_EQ(describe(Resources{2, 4000, 0, 1}), "2 cores, 4000 MB memory, 1 GPU");
    EXPECT_EQ(describe(Resources{1, 64 * 1024, 10, 2}), "1 core, 64 GB memory, 10 MB disk, 2 GPUs");
    EXPECT_EQ(describe(Resources{}), "nothing");
    EXPECT_EQ(describe(Needs{}), "1 core");
    EXPECT_EQ(describe(Needs{.gpus = 3}), "3 GPUs");
}

TEST(Describe, SaysHowAnAttemptEnded) {
    Outcome outcome;
    EXPECT_TRUE(outcome.succeeded());
    outcome.exit_code = 3;
    EXPECT_FALSE(outcome.succeeded());
    EXPECT_EQ(describe(outcome), "exit 3");
    outcome.ending = Ending::signalled;
    outcome.signal = 11;
    EXPECT_EQ(describe(outcome), "signal 11 (SIGSEGV)");
    outcome.signal = 64;
    EXPECT_EQ(describe(outcome), "signal 64");
    outcome.ending = Ending::timed_out;
    outcome.wall_us = 600'000'000;
    EXPECT_EQ(describe(outcome), "timed out after 10m00s");
    outcome.ending = Ending::not_started;
    outcome.reason = "no such file";
    EXPECT_EQ(describe(outcome), "could not be started: no such file");
    EXPECT_STREQ(name_of(Ending::worker_lost), "worker_lost");
}

}  // namespace
}  // namespace wq::core
