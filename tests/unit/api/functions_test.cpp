// The typed registry: what travels, and what is said where it does not fit.
#include "work_queue/functions.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>

#include "api/session_parts.h"

namespace wq {
namespace {

using ::testing::HasSubstr;

struct Point {
    double x = 0;
    double y = 0;
    std::vector<std::string> names;
    bool operator==(const Point&) const = default;
    MSGPACK_DEFINE(x, y, names)
};

int plain(int a, int b) {
    return a - b;
}
int quiet(int a) noexcept {
    return -a;
}
struct Scale {
    double factor = 1;
    double operator()(double value) const { return factor * value; }
};

// Calls a function of one parameter that gives back what it got.
template <class T>
T there_and_back(const T& value) {
    Functions functions;
    functions.add("same", [](const T& got) { return got; });
    return unpack_result<T>(functions.all().at("same").call(pack_arguments(value)));
}

template <class Result, class F, class... Arguments>
Result through(F function, const Arguments&... arguments) {
    Functions functions;
    functions.add("f", std::move(function));
    return unpack_result<Result>(functions.all().at("f").call(pack_arguments(arguments...)));
}

std::string refusal(const Functions& functions, const std::string& name, const std::string& arguments) {
    try {
        functions.all().at(name).call(arguments);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "it was not refused";
}

TEST(Functions, EveryKindOfValueComesThroughAsItWas) {
    EXPECT_EQ(there_and_back(std::numeric_limits<std::int64_t>::min()),
              std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(there_and_back(std::numeric_limits<std::uint64_t>::max()),
              std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(there_and_back<std::int8_t>(-128), -128);
    EXPECT_EQ(there_and_back(true), true);
    EXPECT_EQ(there_and_back(0.1), 0.1);
    EXPECT_EQ(there_and_back(std::string("a\0b\xff", 4)), std::string("a\0b\xff", 4));
    EXPECT_EQ(there_and_back(std::vector<char>{'\0', 'x'}), (std::vector<char>{'\0', 'x'}));
    EXPECT_EQ(there_and_back(std::vector<double>{}), std::vector<double>{});
    EXPECT_EQ(there_and_back(std::array<int, 3>{1, -2, 3}), (std::array<int, 3>{1, -2, 3}));
    EXPECT_EQ(there_and_back(std::set<int>{3, 1}), (std::set<int>{1, 3}));
    EXPECT_EQ(there_and_back(std::optional<int>{}), std::optional<int>{});
    EXPECT_EQ(there_and_back(std::optional<int>{7}), std::optional<int>{7});
    EXPECT_EQ(there_and_back(std::pair<int, std::string>{1, "one"}), (std::pair<int, std::string>{1, "one"}));
    EXPECT_EQ(there_and_back(std::tuple<int, std::vector<int>>{1, {2, 3}}),
              (std::tuple<int, std::vector<int>>{1, {2, 3}}));
    EXPECT_EQ(there_and_back(std::map<std::string, std::vector<int>>{{"a", {1}}, {"", {}}}),
              (std::map<std::string, std::vector<int>>{{"a", {1}}, {"", {}}}));
    EXPECT_EQ(there_and_back(Point{1, 2, {"origin"}}), (Point{1, 2, {"origin"}}));
    EXPECT_EQ(there_and_back(std::vector<Point>(3)), std::vector<Point>(3));
}

TEST(Functions, AnyCallableWhoseParametersCanBeTold) {
    EXPECT_EQ(through<int>(plain, 5, 7), -2);
    EXPECT_EQ(through<int>(&plain, 5, 7), -2);
    EXPECT_EQ(through<int>(quiet, 5), -5);
    EXPECT_EQ(through<double>(Scale{3}, 2.0), 6.0);
    EXPECT_EQ(through<double>(Scale{3}, 2), 6.0) << "an integer is a number too";
    EXPECT_EQ(through<std::string>(std::function<std::string()>([] { return "none"; })), "none");
    EXPECT_EQ(through<int>([count = 0](int add) mutable { return count += add; }, 4), 4);
    EXPECT_EQ(through<std::size_t>([](std::string_view text) { return text.size(); }, std::string("four")),
              4);
    EXPECT_EQ(through<std::size_t>([](std::string text) noexcept { return text.size(); }, "four"), 4);
    Functions functions;
    functions.add_as<int(int, int)>("max", [](auto a, auto b) { return std::max(a, b); });
    EXPECT_EQ(unpack_result<int>(functions.all().at("max").call(pack_arguments(1, 9))), 9);
}

TEST(Functions, AFunctionWithoutAResultGivesNone) {
    int seen = 0;
    Functions functions;
    functions.add("note", [&](int value) { seen = value; });
    const std::string result = functions.all().at("note").call(pack_arguments(3));
    EXPECT_EQ(seen, 3);
    EXPECT_EQ(result, "");
    unpack_result<void>(result);
    EXPECT_THROW(unpack_result<int>(result), ResultError);
}

TEST(Functions, WrongArgumentsAreNamedWithWhatIsWanted) {
    Functions functions;
    functions.add("area", [](double width, std::vector<int> rest) { return width * double(rest.size()); });
    functions.add("byte", [](std::uint8_t value) { return value; });
    EXPECT_EQ(refusal(functions, "area", pack_arguments(1.5)),
              "function 'area' takes (number, array of integer), and got 1 argument");
    EXPECT_EQ(refusal(functions, "area", pack_arguments(1, 2, 3)),
              "function 'area' takes (number, array of integer), and got 3 arguments");
    EXPECT_EQ(refusal(functions, "area", pack_arguments("wide", 2)),
              "argument 1 of function 'area' must be number, but is \"wide\"");
    EXPECT_EQ(refusal(functions, "area", pack_arguments(1, std::vector<std::string>{"x"})),
              "argument 2 of function 'area' must be array of integer, but is an array of 1");
    EXPECT_EQ(refusal(functions, "byte", pack_arguments(256)),
              "argument 1 of function 'byte' must be integer, but is 256");
    EXPECT_EQ(refusal(functions, "byte", pack_arguments(-1)),
              "argument 1 of function 'byte' must be integer, but is -1");
    EXPECT_THAT(refusal(functions, "byte", pack_arguments(std::string(100, 'x'))),
                HasSubstr("... of 100 bytes"));
    for (const std::string& bytes : {std::string(), std::string("\x2a"), std::string("\x92\x01"),
                                     std::string("\x91\x01\x01"), std::string("\xdd\xff\xff\xff\xff")})
        EXPECT_THAT(refusal(functions, "byte", bytes),
                    HasSubstr("takes (integer), and got something other than a msgpack array of arguments"));
}

TEST(Functions, BytesThatAnnounceMoreThanTheyHaveReserveNothing) {
    Functions functions;
    functions.add("nest", [](std::vector<std::vector<int>> value) { return value.size(); });
    // Arrays within arrays, each of 2^32 - 1 elements by its word.
    std::string bytes;
    for (int depth = 0; depth < 200; ++depth) bytes += "\xdd\xff\xff\xff\xff";
    EXPECT_THAT(refusal(functions, "nest", bytes), HasSubstr("other than a msgpack array"));
    EXPECT_THAT(refusal(functions, "nest", std::string(100'000, '\x91')),
                HasSubstr("other than a msgpack array"));
}

TEST(Functions, RandomBytesAreRefusedOrCalled) {
    Functions functions;
    functions.add("any", [](std::map<std::string, std::tuple<int, std::optional<double>>> value,
                            std::vector<Point> points) { return value.size() + points.size(); });
    std::mt19937 random(1);
    const std::string good = pack_arguments(
        std::map<std::string, std::tuple<int, std::optional<double>>>{{"a", {1, 2.0}}, {"b", {2, {}}}},
        std::vector<Point>(2));
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = good;
        for (std::uint32_t change = random() % 4; change > 0; --change)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        bytes.resize(bytes.size() - random() % 2 * (random() % bytes.size()));
        try {
            functions.all().at("any").call(bytes);
        } catch (const std::invalid_argument&) {
        }
    }
}

TEST(Functions, ResultsThatAreNotWantedSaySo) {
    const auto said = [](const std::string& bytes) {
        try {
            unpack_result<int>(bytes);
        } catch (const ResultError& error) {
            return std::string(error.what());
        }
        return std::string("taken");
    };
    EXPECT_EQ(said(detail::pack_value(std::string("text"))), "the result must be integer, but is \"text\"");
    EXPECT_EQ(said(detail::pack_value(1.5)), "the result must be integer, but is 1.500000");
    EXPECT_EQ(said(""), "the result must be integer, but the call returned none");
    EXPECT_EQ(said("\x92\x01"), "the result must be integer, but is not msgpack");
    EXPECT_EQ(said(detail::pack_value(7)), "taken");
}

TEST(Functions, OfOneIntegerIsCalledByIndex) {
    std::vector<std::int64_t> seen;
    Functions functions;
    functions.add("wide", [&](std::int64_t index) {
        seen.push_back(index);
        return index;
    });
    functions.add("narrow", [&](std::uint8_t index) { seen.push_back(index); });
    functions.add("two", [](int, int) {});
    functions.add("flag", [](bool) {});
    functions.add("none", [] {});
    functions.all().at("wide").call_index(-5);
    functions.all().at("narrow").call_index(255);
    EXPECT_THAT(seen, ::testing::ElementsAre(-5, 255));
    EXPECT_THROW(functions.all().at("narrow").call_index(256), std::invalid_argument);
    EXPECT_THROW(functions.all().at("narrow").call_index(-1), std::invalid_argument);
    for (const char* name : {"two", "flag", "none"})
        EXPECT_FALSE(functions.all().at(name).call_index) << name;
}

TEST(Functions, WhatAFunctionThrowsComesOutAsItIs) {
    Functions functions;
    functions.add("fail", [](int) -> int { throw std::out_of_range("too far"); });
    EXPECT_THROW(functions.all().at("fail").call(pack_arguments(1)), std::out_of_range);
    EXPECT_THROW(functions.all().at("fail").call_index(1), std::out_of_range);
}

TEST(Functions, WhatNoManagerTakesIsRefusedWhereItIsAdded) {
    Functions functions;
    functions.add(std::string(255, 'f'), [] {});
    try {
        functions.add(std::string(256, 'g'), [] {});
        ADD_FAILURE() << "it was taken";
    } catch (const std::length_error& error) {
        EXPECT_EQ(error.what(),
                  "function '" + std::string(40, 'g') + "...': its name has 256 bytes; the maximum is 255");
    }
    while (functions.all().size() < 10'000) functions.add(std::to_string(functions.all().size()), [] {});
    EXPECT_THROW(functions.add("one more", [] {}), std::length_error);
    EXPECT_NO_THROW(functions.add("1", [] {}));
}

TEST(Functions, TheLastOfANameIsIt) {
    Functions functions;
    functions.add("f", [] { return 1; });
    functions.add("f", [] { return 2; });
    const node::process::FunctionTable table = api::function_table(functions);
    ASSERT_NE(table.find("f"), nullptr);
    EXPECT_EQ(unpack_result<int>(table.find("f")->call(pack_arguments())), 2);
    EXPECT_EQ(table.find("g"), nullptr);
}

}  // namespace
}  // namespace wq
