#include "functions/coprocess/server.h"

#include <gtest/gtest.h>

#include "api/session_parts.h"

namespace wq::functions::coprocess {
namespace {

TEST(CoprocessServer, ConvertsArgumentsAndResults) {
    Functions functions;
    functions.add("half", [](double x) { return x / 2; });
    functions.add("join", [](const std::vector<std::string>& parts, bool twice) {
        std::string all;
        for (const std::string& part : parts) all += part;
        return std::map<std::string, std::string>{{"all", twice ? all + all : all}};
    });
    functions.add("nothing", [] {});
    functions.add("fails", [](std::optional<int>) -> int { throw std::runtime_error("no luck"); });
    const node::process::FunctionTable table = api::function_table(functions);
    const auto answer = [&](const std::string& function, const std::string& event) {
        return answer_to(table, function, event).text;
    };
    EXPECT_EQ(answer("half", R"({"fn_args": [3]})"), R"({"Result":1.5,"StatusCode":200})");
    EXPECT_EQ(answer("join", R"({"fn_args": [["a", "ä"], true]})"),
              R"({"Result":{"all":"aäaä"},"StatusCode":200})");
    EXPECT_EQ(answer("nothing", "{}"), R"({"Result":null,"StatusCode":200})");
    EXPECT_EQ(answer("fails", R"({"fn_args": [null]})"), R"({"Result":"no luck","StatusCode":500})");
    for (const auto& [function, event] : std::vector<std::pair<std::string, std::string>>{
             {"half", R"({"fn_args": ["x"]})"},
             {"half", "{}"},
             {"half", "[]"},
             {"half", R"({"fn_args": 3})"},
             {"half", R"({"fn_args": [1], "fn_kwargs": {"x": 1}})"},
             {"other", "{}"},
             {"half", "{"}})
        EXPECT_NE(answer(function, event).find("\"StatusCode\":500"), std::string::npos) << function << event;
}

}  // namespace
}  // namespace wq::functions::coprocess
