// Lists of fields serve both directions; the bytes are those of the header comment; bad bytes are refused.
#include "base/fields.h"

#include <gtest/gtest.h>

#include <limits>

using namespace std::string_literals;

namespace wq::listed {

enum class Color : std::uint8_t { red, green, blue };
constexpr Color last_of(Color) {
    return Color::blue;
}

struct Part {
    std::string name;
    std::int32_t offset = 0;
    bool operator==(const Part&) const = default;
};
template <class V>
void fields(Part& part, V& visit) {
    visit(part.name, part.offset);
}

struct All {
    bool yes = false;
    Color color = Color::red;
    std::uint8_t byte = 0;
    std::uint16_t small = 0;
    std::int64_t number = 0;
    double real = 0;
    TaskId task;
    std::chrono::milliseconds pause{0};
    std::chrono::sys_time<std::chrono::microseconds> time{};
    std::optional<Part> part;
    std::array<std::string, 2> texts;
    std::vector<std::pair<std::string, std::optional<std::string>>> pairs;
    IntervalSet set;
    Interval range{0, 1};
    bool operator==(const All&) const = default;
};
template <class V>
void fields(All& all, V& visit) {
    visit(all.yes, all.color, all.byte, all.small, all.number, all.real, all.task, all.pause, all.time,
          all.part, all.texts, all.pairs, all.set, all.range);
}

struct Versioned {
    std::uint32_t version = 1;
    std::string text{};
    bool operator==(const Versioned&) const = default;
};
template <class V>
void fields(Versioned& value, V& visit) {
    visit(value.version);
    if (value.version != 1) return visit.leave_rest();
    visit(value.text);
    visit.require(value.text != "bad");
}

// Bytes that follow no list.
struct Reversed {
    std::string text;
    bool operator==(const Reversed&) const = default;
};
void put(ByteWriter& out, const Reversed& value) {
    out.blob(std::string(value.text.rbegin(), value.text.rend()));
}
void get(ByteReader& in, Reversed& value) {
    const std::string_view text = in.blob();
    value.text.assign(text.rbegin(), text.rend());
}

struct Nothing {
    bool operator==(const Nothing&) const = default;
};
using Message = std::variant<Nothing, Part, Reversed, Versioned>;

namespace {

All example() {
    All all;
    all.yes = true;
    all.color = Color::blue;
    all.byte = 200;
    all.small = 300;
    all.number = -3;
    all.real = 0.5;
    all.task = TaskId(7);
    all.pause = std::chrono::milliseconds(-1);
    all.time += std::chrono::microseconds(2);
    all.part = Part{"x", -1};
    all.texts = {"ab", ""};
    all.pairs = {{"A", "1"}, {"B", std::nullopt}};
    all.set.insert(Interval{3, 5});
    all.set.insert(Interval{9, 10});
    all.range = {130, 131};
    return all;
}

TEST(Fields, BytesAreThoseOfTheHeader) {
    EXPECT_EQ(bytes_of(example()),
              "\x01"                              // bool
              "\x02"                              // enumeration
              "\xc8"                              // uint8_t
              "\xac\x02"                          // 300 as a varint
              "\x05"                              // -3, zigzag
              "\x00\x00\x00\x00\x00\x00\xe0\x3f"  // 0.5
              "\x07"                              // id
              "\x01\x04"                          // times
              "\x01\x01x\x01"                     // optional
              "\x02"
              "ab\x00"  // array
              "\x02\x01"
              "A\x01\x01"
              "1\x01"
              "B\x00"                 // vector of pairs
              "\x02\x03\x02\x04\x01"  // set: gap and size
              "\x82\x01\x83\x01"s);   // range
}

TEST(Fields, ValuesComeBackAndPartsOfThemDoNot) {
    const std::string bytes = bytes_of(example());
    All read;
    ASSERT_TRUE(fields_are(bytes, read));
    EXPECT_EQ(read, example());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        All part;
        EXPECT_FALSE(fields_are(bytes.substr(0, size), part)) << size;
    }
    EXPECT_FALSE(fields_are(bytes + "x", read));
}

template <class T>
bool reads(const std::string& bytes) {
    T value{};
    return fields_are(bytes, value);
}

TEST(Fields, WhatDoesNotFitIsRefused) {
    EXPECT_TRUE(reads<Color>("\x02"));
    EXPECT_FALSE(reads<Color>("\x03"));
    EXPECT_FALSE(reads<bool>("\x02"));
    EXPECT_TRUE(reads<std::uint16_t>(bytes_of(std::uint64_t{65535})));
    EXPECT_FALSE(reads<std::uint16_t>(bytes_of(std::uint64_t{65536})));
    EXPECT_FALSE(reads<std::int32_t>(bytes_of(std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1)));
    EXPECT_FALSE(reads<WorkerId>(bytes_of(std::uint64_t{1} << 32)));
    EXPECT_FALSE(reads<Interval>(bytes_of(std::uint64_t{5}, std::uint64_t{5})));
    EXPECT_FALSE(reads<IntervalSet>("\x01\x05\x00"s)) << "an empty range";
    EXPECT_FALSE(reads<IntervalSet>("\x01"s + bytes_of(~std::uint64_t{0}, std::uint64_t{2})))
        << "beyond 2^64";
    EXPECT_FALSE(reads<std::vector<std::string>>(bytes_of(std::uint64_t{1} << 40))) << "no memory is taken";
}

TEST(Fields, AListMayCheckAndMayLeaveTheRest) {
    Versioned value;
    EXPECT_FALSE(fields_are(bytes_of(Versioned{1, "bad"}), value));
    ASSERT_TRUE(fields_are(bytes_of(std::uint32_t{2}) + "what version 2 has", value));
    EXPECT_EQ(value.version, 2u);
}

TEST(Fields, AMessageIsItsKindAndItsFields) {
    for (const Message& message : {Message(Nothing{}), Message(Part{"name", 3}), Message(Reversed{"abc"}),
                                   Message(Versioned{1, "text"})}) {
        ByteWriter out;
        put_message(out, message);
        EXPECT_EQ(static_cast<std::size_t>(out.bytes().front()), message.index());
        EXPECT_EQ(message_in<Message>(out.bytes()), message);
        EXPECT_EQ(message_in<Message>(out.bytes() + "x"), std::nullopt);
    }
    EXPECT_EQ(message_in<Message>(""), std::nullopt);
    EXPECT_EQ(message_in<Message>("\x04"), std::nullopt) << "no such kind";
    EXPECT_EQ(message_in<Message>("\x01\x05"), std::nullopt) << "cut";
}

}  // namespace
}  // namespace wq::listed
