#include "functions/coprocess/message.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace wq::functions::coprocess {
namespace {

using Members = std::map<std::string, std::string>;

std::optional<Members> members_of(std::string_view text) {
    Members members;
    const auto object = read_json_object(
        text, [&](std::string_view key, std::string_view value) { members[std::string(key)] = value; });
    return object ? std::optional(members) : std::nullopt;
}

TEST(JsonObject, HasMembersOfAnyKind) {
    EXPECT_EQ(members_of(" { } \n"), Members{});
    EXPECT_EQ(members_of(R"({"a": 1, "b" : [1, {"c": "]}"}], "d":"\"\\", "e":null})"),
              (Members{{"a", "1"}, {"b", R"([1, {"c": "]}"}])"}, {"d", R"("\"\\")"}, {"e", "null"}}));
    EXPECT_EQ(members_of(R"({"a": NaN, "b": [-Infinity], "c": "\ud800", "a": 2})"),
              (Members{{"a", "2"}, {"b", "[-Infinity]"}, {"c", R"("\ud800")"}}));
}

TEST(JsonObject, IsNothingElse) {
    for (const char* const bad : {"",
                                  " ",
                                  "[1]",
                                  "1",
                                  "\"a\"",
                                  "{",
                                  "}",
                                  "{\"a\"}",
                                  "{\"a\":}",
                                  "{\"a\":1",
                                  "{\"a\":1,}",
                                  "{\"a\":\"}",
                                  "{\"a\":\"\\",
                                  "{a:1}",
                                  "{\"a\":1}}",
                                  "{\"a\":1} 2",
                                  "{\"a\":1 2}",
                                  "{,}",
                                  "{\"a\" 1}",
                                  "{\"a\":[\"\\\"]}"})
        EXPECT_FALSE(members_of(bad)) << bad;
}

TEST(JsonObject, MayBeNestedAsDeepAsItLikes) {
    constexpr std::size_t depth = 1'000'000;
    const std::string deep = "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    const auto object = read_json_object(deep, [](std::string_view, std::string_view) {});
    ASSERT_TRUE(object);
    EXPECT_EQ(object->depth, depth + 1);
    EXPECT_EQ(object->end, deep.size() - 1);
    EXPECT_FALSE(object->empty);
}

}  // namespace
}  // namespace wq::functions::coprocess
