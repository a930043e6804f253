#include "programs/status/status_table.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/time.h"
#include "net/contact/manager_record.h"

namespace wq::programs::status {
namespace {

constexpr std::int64_t asked_at = 1'000'000;  // s; by the server's clock, not ours

std::string mark_after(std::int64_t seconds, const std::string& wire) {
    Json record{{"type", "wq_master"},    {"project", "align"}, {"name", "node9.site"},
                {"address", "192.0.2.9"}, {"port", 9123},       {"lastheardfrom", asked_at - seconds}};
    if (!wire.empty()) record[net::contact::wire_member] = wire;
    return mark_of(record, asked_at * micros_per_second);
}

TEST(StatusRecords, AManagerThatMissedTwoUpdatesIsMarked) {
    EXPECT_EQ(mark_after(30, net::contact::wire_of_record()), "");
    EXPECT_EQ(mark_after(150, net::contact::wire_of_record()).find("silent for 2m"), 0u);
    EXPECT_EQ(mark_after(90, ""), "") << "CCTools' managers send one every 60 s";
    EXPECT_EQ(mark_after(150, "").find("silent for 2m"), 0u);
    EXPECT_EQ(mark_after(asked_at, ""), "") << "without a time";
}

}  // namespace
}  // namespace wq::programs::status
