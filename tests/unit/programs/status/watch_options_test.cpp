#include <gtest/gtest.h>

#include <vector>

#include "programs/status/status_options.h"

namespace wq::programs::status {
namespace {

Result<StatusOptions> parsed(std::vector<const char*> words) {
    words.insert(words.begin(), "work_queue_status");
    return parse_status_options(static_cast<int>(words.size()), words.data());
}

// A run that does not exist is no host either.
TEST(WatchOptions, TheWordIsARun) {
    const auto options = parsed({"--watch", "no-such-run.wq"});
    ASSERT_TRUE(options.ok());
    EXPECT_TRUE(options->watch);
    EXPECT_EQ(options->run, "no-such-run.wq");
}

TEST(WatchOptions, WhatCannotBeWatchedIsRefused) {
    for (const std::vector<const char*>& words :
         std::vector<std::vector<const char*>>{{"--watch"},
                                               {"--watch", "host", "9123"},
                                               {"--watch", "--contact", "contact"},
                                               {"--watch", "-M", "name"},
                                               {"--watch", "-T", "run.wq"},
                                               {"--watch", "--json", "run.wq"},
                                               {"--watch", "--every", "5", "run.wq"},
                                               {"--watch", "--where", "port==1", "run.wq"}}) {
        const auto options = parsed(words);
        ASSERT_FALSE(options.ok()) << words.back();
        EXPECT_EQ(options.error().code, ExitCode::usage);
    }
}

}  // namespace
}  // namespace wq::programs::status
