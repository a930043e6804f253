#include "engine/model/resources.h"

#include <gmock/gmock.h>

#include "engine/model/outcome.h"

namespace wq::engine::model {
namespace {

TEST(Describe, SaysWhatThereIs) {
    EXPECT_EQ(describe(Resources{2, 4000, 0, 1}), "2 cores, 4000 MB memory, 1 GPU");
    EXPECT_EQ(describe(Resources{1, 64 * 1024, 10, 2}), "1 core, 64 GB memory, 10 MB disk, 2 GPUs");
    EXPECT_EQ(describe(Resources{}), "nothing");
    EXPECT_EQ(describe(Resources{Count::of_thousandths(1500), 0, 0, Count::of_thousandths(250)}),
              "1.5 cores, 0.25 GPUs");
    EXPECT_EQ(describe(Needs{}), "a whole worker");
    EXPECT_EQ(describe(Needs{.cores = 0}), "nothing");
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
}  // namespace wq::engine::model
