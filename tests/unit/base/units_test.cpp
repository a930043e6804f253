#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace {

using namespace std::chrono_literals;
using wq::Duration;

struct DurationCase {
    const char* text;
    Duration value;
};

TEST(ParseDuration, TakesEveryFormOfTheHeader) {
    const DurationCase cases[] = {
        {"0", 0s},
        {"90", 90s},
        {"1.5", 1500ms},
        {"0.000000001", 1ns},
        {"0.0000000019", 1ns},
        {"90s", 90s},
        {"10m", 10min},
        {"1h30m", 90min},
        {"1.5h", 90min},
        {"2d", 48h},
        {"1d2h3m4s", 26h + 3min + 4s},
        {"1m0.25s", 60250ms},
        {"05:30", 330s},
        {"90:00", 90min},
        {"01:02:03", 1h + 2min + 3s},
        {"48:00:00", 48h},
        {"2-03", 51h},
        {"2-03:04", 51h + 4min},
        {"1-00:00:01", 24h + 1s},
        {"0-48:00:00", 48h},
        {"36525d", 36525 * 24h},
        {"3155760000", 36525 * 24h},
    };
    for (const auto& test : cases) {
        const auto value = wq::parse_duration(test.text);
        ASSERT_TRUE(value) << test.text << ": " << value.error().message;
        EXPECT_EQ(*value, test.value) << test.text;
    }
}

TEST(ParseDuration, RefusesTheRestInOneLineThatNamesIt) {
    for (const char* text : {"",
                             " ",
                             "abc",
                             "-5",
                             "+5",
                             "1.",
                             ".5",
                             "1h30",
                             "30m1h",
                             "1m1m",
                             "5x",
                             "1 h",
                             "10M",
                             "1:60",
                             "1:2:60",
                             "1:2:3:4",
                             "1-",
                             "-1:00",
                             "1--2",
                             "1-2-3",
                             "1:",
                             ":1",
                             "1e3",
                             "inf",
                             "36525d1s",
                             "36526d",
                             "1-2:3:4:5",
                             "3155760001",
                             "99999999999999999999",
                             "99999999999999999999-1",
                             "36525-00:00:01",
                             "0x10",
                             "1..5"}) {
        const auto value = wq::parse_duration(text);
        ASSERT_FALSE(value) << text;
        EXPECT_EQ(value.error().code, wq::ExitCode::usage);
        EXPECT_EQ(value.error().message,
                  std::string("'") + text +
                      "' is not a duration up to 100 years; write 90 (seconds), 1h30m, "
                      "HH:MM:SS or D-HH:MM:SS");
    }
}

struct SizeCase {
    const char* text;
    std::int64_t bytes;
};

TEST(ParseSize, TakesEveryFormOfTheHeader) {
    constexpr std::int64_t mb = 1 << 20;
    const SizeCase cases[] = {
        {"0", 0},
        {"512", 512 * mb},
        {"1.5", mb + mb / 2},
        {"512M", 512 * mb},
        {"512m", 512 * mb},
        {"512MB", 512 * mb},
        {"4G", 4096 * mb},
        {"4GiB", 4096 * mb},
        {"4Gi", 4096 * mb},
        {"1.5T", 3 * (std::int64_t{1} << 39)},
        {"100k", 102400},
        {"7B", 7},
        {"7b", 7},
        {"0.1k", 102},
        {"4096P", std::int64_t{1} << 62},
        {"4611686018427387904B", std::int64_t{1} << 62},
    };
    for (const auto& test : cases) {
        const auto value = wq::parse_size(test.text);
        ASSERT_TRUE(value) << test.text << ": " << value.error().message;
        EXPECT_EQ(*value, test.bytes) << test.text;
    }
    EXPECT_EQ(*wq::parse_size("512", 1), 512);
    EXPECT_EQ(*wq::parse_size("512K", 1), 512 * 1024);
}

TEST(ParseSize, RefusesTheRest) {
    for (const char* text :
         {"", "-1", "4X", "G", "4 G", "4GG", "4iB", "1e9", "4G1", "4Bi", "4097P", "5000000T", "4096.1P",
          "4611686018427387905B", "99999999999999999999", "nan", "0x10"}) {
        const auto value = wq::parse_size(text);
        ASSERT_FALSE(value) << text;
        EXPECT_EQ(value.error().code, wq::ExitCode::usage);
        EXPECT_EQ(value.error().message,
                  std::string("'") + text + "' is not a size up to 4096 PiB; write 512M, 4G or 1.5T");
    }
}

TEST(ParseCount, HoldsItsBoundsAndNamesThem) {
    EXPECT_EQ(*wq::parse_count("0", 0, 9), 0);
    EXPECT_EQ(*wq::parse_count("9", 0, 9), 9);
    EXPECT_EQ(*wq::parse_count("007", 0, 9), 7);
    EXPECT_EQ(*wq::parse_count("9223372036854775807", 0, std::numeric_limits<std::int64_t>::max()),
              std::numeric_limits<std::int64_t>::max());
    for (const char* text : {"", "-1", "+1", "10", "1.0", " 1", "1 ", "x", "9223372036854775808"}) {
        const auto value = wq::parse_count(text, 0, 9);
        ASSERT_FALSE(value) << text;
        EXPECT_EQ(value.error().message, std::string("'") + text + "' is not a whole number from 0 to 9");
    }
    EXPECT_EQ(wq::parse_count("0", 1, std::numeric_limits<std::int64_t>::max()).error().message,
              "'0' is not a whole number of at least 1");
}

TEST(FormatDuration, TwoUnitsAndNoSixtiethSecond) {
    const std::pair<Duration, const char*> cases[] = {
        {0ns, "0.00s"},
        {420ms, "0.42s"},
        {9994ms, "9.99s"},
        {9996ms, "10s"},
        {12s, "12s"},
        {59400ms, "59s"},
        {59700ms, "1m00s"},
        {185s, "3m05s"},
        {3599s, "59m59s"},
        {3599700ms, "1h00m"},
        {90min, "1h30m"},
        {24h - 20s, "1d00h"},
        {52h, "2d04h"},
        {52h + 31min, "2d05h"},
        {-5s, "-5.00s"},
        {4ms, "0.00s"},
        {Duration::max(), "106752d00h"},
        {Duration::min(), "-106752d00h"},
    };
    for (const auto& [value, text] : cases) EXPECT_EQ(wq::format_duration(value), text);
}

TEST(FormatSize, OneDecimalAndNo1024) {
    const std::pair<std::int64_t, const char*> cases[] = {
        {0, "0 B"},
        {512, "512 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {4096, "4.0 KiB"},
        {1048575, "1.0 MiB"},
        {std::int64_t{3} << 29, "1.5 GiB"},
        {std::int64_t{1} << 62, "4.0 EiB"},
        {-2048, "-2.0 KiB"},
        {std::numeric_limits<std::int64_t>::min(), "-8.0 EiB"},
    };
    for (const auto& [bytes, text] : cases) EXPECT_EQ(wq::format_size(bytes), text);
}

TEST(FormatCount, GroupsOfThree) {
    const std::pair<std::uint64_t, const char*> cases[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {1234567, "1,234,567"},
        {std::numeric_limits<std::uint64_t>::max(), "18,446,744,073,709,551,615"}};
    for (const auto& [value, text] : cases) EXPECT_EQ(wq::format_count(value), text);
}

TEST(QuoteForMessage, ShowsWhatATerminalMustNotObey) {
    const std::pair<std::string, const char*> cases[] = {
        {"", "''"},
        {"plain", "'plain'"},
        {"a\tb\n", "'a\\x09b\\x0a'"},
        {"\x1b[31m", "'\\x1b[31m'"},
        {std::string("a\0b", 3), "'a\\x00b'"},
        {"\x7f", "'\\x7f'"},
        {"gr\xC3\xBC\xC3\x9F", "'gr\xC3\xBC\xC3\x9F'"},
        {"\xF0\x9F\x98\x80", "'\xF0\x9F\x98\x80'"},
        {"\xC3", "'\\xc3'"},
        {"\xFF\xFE", "'\\xff\\xfe'"},
        {"\xC2\x9B", "'\\xc2\\x9b'"},           // the C1 form of ESC [
        {"\xED\xA0\x80", "'\\xed\\xa0\\x80'"},  // half of a surrogate pair
    };
    for (const auto& [text, quoted] : cases) EXPECT_EQ(wq::quote_for_message(text), quoted);
}

TEST(LineForMessage, IsBareAndCutWithDots) {
    EXPECT_EQ(wq::line_for_message("echo 'bad' >&2"), "echo 'bad' >&2");
    EXPECT_EQ(wq::line_for_message("a\x1b[2J"), "a\\x1b[2J");
    EXPECT_EQ(wq::line_for_message(std::string(160, 'x')), std::string(160, 'x'));
    EXPECT_EQ(wq::line_for_message(std::string(161, 'x')), std::string(157, 'x') + "...");
}

TEST(CountOf, IsSingularForOne) {
    EXPECT_EQ(wq::count_of(1, "task"), "1 task");
    EXPECT_EQ(wq::count_of(0, "task"), "0 tasks");
    EXPECT_EQ(wq::count_of(1234, "task"), "1,234 tasks");
}

TEST(QuoteForMessage, NeverPasses80BytesNorCutsAnEscapeOrACharacter) {
    EXPECT_EQ(wq::quote_for_message(std::string(78, 'x')), "'" + std::string(78, 'x') + "'");
    EXPECT_EQ(wq::quote_for_message(std::string(79, 'x')), "'" + std::string(75, 'x') + "'...");
    std::mt19937_64 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::string text(random() % 200, ' ');
        for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? random() : 'a' + random() % 26);
        const std::string quoted = wq::quote_for_message(text);
        EXPECT_LE(quoted.size(), 80U);
        for (const char c : quoted) EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20) << quoted;
    }
    std::string wide;
    for (int i = 0; i < 60; ++i) wide += "\xC3\xBC";
    const std::string quoted = wq::quote_for_message(wide);
    EXPECT_TRUE(quoted.ends_with("\xC3\xBC'...")) << quoted;
}

}  // namespace
