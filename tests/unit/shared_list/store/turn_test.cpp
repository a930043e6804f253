// What a worker can do whose changes are refused again and again, by each way to a list.
#include <chrono>
#include <filesystem>
#include <string>

#include "stores.h"

namespace wq::shared_list::store {
namespace {

class Turn : public EveryWay {};

TEST_P(Turn, IsAskedForWhateverOthersDid) {
    test::write_file(list(), "echo a\n");
    auto slow = opened(list());
    auto other = opened(Way::local, list());
    const Version before = version(*slow);
    const Version changed = ask(*other, append(version(*other), "one\n")).now;
    ASSERT_TRUE(slow->ask_for_turn("me").ok());
    // Whoever does not know of it can change nothing.
    const Answer refused = ask(*other, append(changed, "two\n"));
    EXPECT_FALSE(refused.changed);
    EXPECT_NE(("\n" + refused.log).find("\nTURN me\n"), std::string::npos) << refused.log;
    const Answer late = ask(*slow, append(before, "three\n"));
    EXPECT_FALSE(late.changed);
    EXPECT_EQ(late.log, "one\n" + refused.log);
    EXPECT_EQ(late.now.log_bytes, refused.now.log_bytes);
    EXPECT_TRUE(ask(*slow, append(late.now, "three\n")).changed);
}

TEST_P(Turn, SignsAreRenewedIfTheyAreDue) {
    test::write_file(list(), "echo a\n");
    auto store = opened(list());
    int told = 0;
    store->on_signs([&](Instant) { ++told; });
    ASSERT_TRUE(store->renew_signs().ok());
    EXPECT_EQ(told, 0) << "it has given none";
    ASSERT_TRUE(store->beat(3, std::chrono::minutes(10)).ok());
    const std::filesystem::path sign = list() + ".runtask/alive/3";
    const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    std::filesystem::last_write_time(sign, long_ago);
    ASSERT_TRUE(store->renew_signs().ok());
    EXPECT_EQ(told, 1);
    EXPECT_GT(std::filesystem::last_write_time(sign), long_ago + std::chrono::minutes(59));
    std::filesystem::last_write_time(sign, long_ago);
    ASSERT_TRUE(store->renew_signs().ok());
    EXPECT_EQ(told, 1) << "it was written just now";
}

WQ_EVERY_WAY(Turn);

}  // namespace
}  // namespace wq::shared_list::store
