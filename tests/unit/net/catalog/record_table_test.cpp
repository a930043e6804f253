#include "net/catalog/record_table.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace {

using namespace wq;
using net::catalog::Protocol;
using net::catalog::RecordTable;

Instant at(int seconds) {
    return Instant(std::chrono::seconds(seconds));
}

net::catalog::FlatRecord flat(const Json& record) {
    return net::catalog::FlatRecord(record.dump());
}

std::string names_of(const RecordTable& table) {
    std::string names;
    for (auto place = table.behind(nullptr); place != table.end(); ++place)
        names += place->second.record.text_of("name") + " ";
    return names;
}

Json record_of(int port, std::size_t bytes = 0) {
    return {{"port", port}, {"name", "n" + std::to_string(port)}, {"text", std::string(bytes, 'x')}};
}

TEST(RecordTable, SetsWhatTheServerKnows) {
    RecordTable table({});
    const auto key = table.update(flat({{"port", 9}, {"address", "forged"}, {"name", 7}}),
                                  {"10.0.0.1", "", Protocol::tcp}, at(0), 5'000'000);
    ASSERT_TRUE(key);
    EXPECT_EQ(*key, "10.0.0.1:9:");
    EXPECT_EQ(table.find(*key)->record.text(),
              R"({"port":9,"address":"10.0.0.1","lastheardfrom":5,"name":"10.0.0.1"})");
    table.name_host("10.0.0.1", "node1");
    EXPECT_EQ(table.find(*key)->record.text(),
              R"({"port":9,"address":"10.0.0.1","lastheardfrom":5,"name":"node1"})");
    EXPECT_EQ(table.update(flat({{"name", "own"}}), {"10.0.0.2", "", Protocol::tcp}, at(0), 0).value(),
              "10.0.0.2:0:own");
    EXPECT_EQ(names_of(table), "node1 own ");
}

TEST(RecordTable, ListsByNameWithoutCase) {
    RecordTable table({});
    for (const char* const name : {"b", "A", "c"})
        ASSERT_TRUE(table.update(flat({{"name", name}}), {"10.0.0.1", "", Protocol::tcp}, at(0), 0));
    EXPECT_EQ(names_of(table), "A b c ");
    const auto first = table.behind(nullptr)->first;
    ASSERT_TRUE(table.update(flat({{"name", "aa"}}), {"10.0.0.1", "", Protocol::tcp}, at(0), 0));
    EXPECT_EQ(table.behind(&first)->first.name, "aa");
}

TEST(RecordTable, ARecordLivesAsLongAsItSays) {
    RecordTable table({.lifetime = std::chrono::seconds(100)});
    ASSERT_TRUE(
        table.update(flat({{"name", "short"}, {"lifetime", 10}}), {"10.0.0.1", "", Protocol::tcp}, at(0), 0));
    ASSERT_TRUE(table.update(flat({{"name", "long"}, {"lifetime", 1000}}), {"10.0.0.1", "", Protocol::tcp},
                             at(0), 0));
    EXPECT_EQ(table.expire(at(9)).size(), 0U);
    EXPECT_EQ(table.expire(at(10)).front(), "10.0.0.1:0:short");
    ASSERT_TRUE(table.update(flat({{"name", "long"}}), {"10.0.0.1", "", Protocol::tcp}, at(50), 0));
    EXPECT_EQ(table.expire(at(149)).size(), 0U);
    EXPECT_EQ(table.expire(at(150)).size(), 1U);
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(table.bytes(), 0U);
}

TEST(RecordTable, ADatagramReplacesNoRecordThatCameByTcp) {
    RecordTable table({});
    ASSERT_TRUE(table.update(flat(record_of(1)), {"10.0.0.1", "", Protocol::tcp}, at(0), 0));
    EXPECT_FALSE(table.update(flat(record_of(1)), {"10.0.0.1", "", Protocol::udp}, at(1), 0));
    ASSERT_TRUE(table.update(flat(record_of(2)), {"10.0.0.1", "", Protocol::udp}, at(0), 0));
    EXPECT_TRUE(table.update(flat(record_of(2)), {"10.0.0.1", "", Protocol::udp}, at(1), 0));
    EXPECT_TRUE(table.update(flat(record_of(2)), {"10.0.0.1", "", Protocol::tcp}, at(1), 0));
    EXPECT_EQ(table.size(), 2U);
}

TEST(RecordTable, AFloodPushesOutItself) {
    RecordTable table({.bytes = 200'000});
    for (int port = 0; port < 10; ++port) {
        ASSERT_TRUE(table.update(flat(record_of(port, 1000)), {"10.0.0.1", "", Protocol::tcp}, at(0), 0));
        ASSERT_TRUE(table.update(flat(record_of(port, 1000)), {"10.0.0.2", "", Protocol::udp}, at(0), 0));
    }
    for (int port = 0; port < 1000; ++port)
        ASSERT_TRUE(table.update(flat(record_of(port, 1000)), {"10.0.0.3", "", Protocol::udp}, at(0), 0));
    EXPECT_LE(table.bytes(), 200'000U);
    EXPECT_GT(table.evicted(), 900U);
    for (int port = 0; port < 10; ++port) {
        EXPECT_NE(table.find("10.0.0.1:" + std::to_string(port) + ":n" + std::to_string(port)), nullptr);
        EXPECT_NE(table.find("10.0.0.2:" + std::to_string(port) + ":n" + std::to_string(port)), nullptr);
    }
    EXPECT_NE(table.find("10.0.0.3:999:n999"), nullptr) << "the newest stays";
    // Forged addresses: each has one record.
    for (int number = 0; number < 1000; ++number)
        ASSERT_TRUE(table.update(flat(record_of(1, 1000)),
                                 {"forged" + std::to_string(number), "", Protocol::udp}, at(0), 0));
    for (int port = 0; port < 10; ++port)
        EXPECT_NE(table.find("10.0.0.1:" + std::to_string(port) + ":n" + std::to_string(port)), nullptr);
}

TEST(RecordTable, LongNamesAreRefusedAndLargeServersNotBelieved) {
    RecordTable table({.believed = 100});
    EXPECT_FALSE(
        table.update(flat({{"name", std::string(1025, 'x')}}), {"10.0.0.1", "", Protocol::tcp}, at(0), 0));
    const auto key =
        table.update(flat({{"total", 1e9}, {"avail", 50}}), {"10.0.0.1", "", Protocol::tcp}, at(0), 0);
    EXPECT_EQ(table.find(*key)->record.integer_of("total"), 100);
    EXPECT_EQ(table.find(*key)->record.integer_of("avail"), 50);
}

}  // namespace
