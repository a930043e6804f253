#include "base/json.h"

#include <gtest/gtest.h>

#include <sstream>

namespace wq {
namespace {

TEST(Json, KeepsTheOrderOfMembers) {
    Json all{{"z", 1}, {"a", {{"list", std::vector<std::string>{"x", "y"}}, {"none", nullptr}}}};
    all["half"] = 0.5;
    all["z"] = true;
    EXPECT_EQ(all.dump(), R"({"z":true,"a":{"list":["x","y"],"none":null},"half":0.5})");
    EXPECT_EQ(Json::array({1, "a"}).dump(1), "[\n 1,\n \"a\"\n]");
}

TEST(Json, OfMembersWithOneNameTheLastCounts) {
    EXPECT_EQ(Json::parse(R"({"a":1,"b":2,"a":{"c":3},"d":4})").dump(), R"({"a":{"c":3},"b":2,"d":4})");
}

TEST(Json, IsDiscardedIfTheTextIsNone) {
    for (const char* text : {"", "{", "[1,]", "1 2", "1e999", "\"\xff\"", "/**/1"})
        EXPECT_TRUE(Json::parse(text).is_discarded()) << text;
    std::size_t wrong_at = 0;
    EXPECT_EQ(Json::parse_commented("[1 /* one */]", wrong_at).dump(), "[1]");
    EXPECT_TRUE(Json::parse_commented("[1, x]", wrong_at).is_discarded());
    EXPECT_EQ(wrong_at, 5U);
    EXPECT_TRUE(Json::parse_commented("1e999", wrong_at).is_discarded());
    EXPECT_EQ(wrong_at, std::string::npos);
}

TEST(Json, ReadsOneOfSeveral) {
    std::istringstream text("{\"a\":1}\n[2]");
    EXPECT_EQ(Json::read_from(text).dump(), R"({"a":1})");
    EXPECT_EQ(Json::read_from(text).dump(), "[2]");
}

TEST(Json, ReplacesWhatIsNotUtf8) {
    EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\"");
    EXPECT_EQ(Json("\xc3\xa9").dump(-1, true), R"("\u00e9")");
}

TEST(Json, ComparesNumbersByValue) {
    EXPECT_EQ(Json(1), Json(1.0));
    EXPECT_EQ(Json(1U), 1);
    EXPECT_NE(Json(1), true);
    EXPECT_NE(Json::parse(""), Json::parse(""));
    EXPECT_EQ(Json::parse("18446744073709551615").dump(), "18446744073709551615");
}

TEST(Json, GoesThroughMsgpack) {
    const Json all{{"a", Json::array({-1, 2.5, "x", nullptr, false})}};
    EXPECT_EQ(Json::from_msgpack(all.to_msgpack()), all);
    EXPECT_EQ(Json::from_msgpack("\xc4\x01\x07").dump(), R"({"bytes":[7],"subtype":null})");
    EXPECT_TRUE(Json::from_msgpack("\xc1").is_discarded());
}

TEST(Json, MayBeAsDeepAsItIsLong) {
    const std::string deep(100'000, '[');
    EXPECT_TRUE(Json::parse(deep).is_discarded());
    EXPECT_TRUE(Json::parse(deep + std::string(deep.size(), ']')).is_array());
}

}  // namespace
}  // namespace wq
