#include "cli/status_records.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/time.h"
#include "listening/manager_record.h"

namespace wq::cli {
namespace {

std::string mark_after(std::int64_t seconds, const std::string& wire) {
    catalog::Json record{{"type", "wq_master"},  {"project", "align"},
                         {"name", "node9.site"}, {"address", "192.0.2.9"},
                         {"port", 9123},         {"lastheardfrom", wall_now() / micros_per_second - seconds}};
    if (!wire.empty()) record[listening::wire_member] = wire;
    return mark_of(record);
}

TEST(StatusRecords, AManagerThatMissedTwoUpdatesIsMarked) {
    EXPECT_EQ(mark_after(30, listening::wire_of_record()), "");
    EXPECT_EQ(mark_after(150, listening::wire_of_record()).find("silent for 2m"), 0u);
    EXPECT_EQ(mark_after(90, ""), "") << "CCTools' managers send one every 60 s";
    EXPECT_EQ(mark_after(150, "").find("silent for 2m"), 0u);
}

}  // namespace
}  // namespace wq::cli
