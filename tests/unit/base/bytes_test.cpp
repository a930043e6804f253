#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

using wq::ByteReader;
using wq::ByteWriter;

TEST(Bytes, EveryFieldComesBack) {
    const std::vector<std::uint64_t> naturals{0,          1,    127, 128, 16383, 16384, (1ULL << 32) - 1,
                                              1ULL << 63, ~0ULL};
    const std::vector<std::int64_t> integers{0,
                                             -1,
                                             1,
                                             -64,
                                             63,
                                             64,
                                             std::numeric_limits<std::int64_t>::min(),
                                             std::numeric_limits<std::int64_t>::max()};
    const std::vector<double> reals{0.0, -0.0, 1.5, 1e308, std::numeric_limits<double>::infinity()};
    ByteWriter out;
    for (const auto value : naturals) out.u64(value);
    for (const auto value : integers) out.i64(value);
    for (const auto value : reals) out.f64(value);
    out.f64(std::nan(""));
    out.boolean(true);
    out.boolean(false);
    out.blob("");
    out.blob(std::string("a\0b", 3));
    out.u8(0xFE);
    out.raw("tail");

    const std::string bytes = out.take();
    EXPECT_EQ(out.size(), 0U);
    ByteReader in(bytes);
    for (const auto value : naturals) EXPECT_EQ(in.u64(), value);
    for (const auto value : integers) EXPECT_EQ(in.i64(), value);
    for (const auto value : reals) {
        const double back = in.f64();
        EXPECT_EQ(back, value);
        EXPECT_EQ(std::signbit(back), std::signbit(value));
    }
    EXPECT_TRUE(std::isnan(in.f64()));
    EXPECT_TRUE(in.boolean());
    EXPECT_FALSE(in.boolean());
    EXPECT_EQ(in.blob(), "");
    EXPECT_EQ(in.blob(), std::string_view("a\0b", 3));
    EXPECT_EQ(in.u8(), 0xFE);
    EXPECT_EQ(in.rest(), "tail");
    EXPECT_TRUE(in.ok());
    EXPECT_FALSE(in.at_end());
}

TEST(Bytes, SmallNumbersTakeOneByteAndTheLargestTen) {
    ByteWriter small;
    small.u64(127);
    small.i64(-64);
    EXPECT_EQ(small.size(), 2U);
    ByteWriter large;
    large.u64(~0ULL);
    EXPECT_EQ(large.size(), 10U);
}

// Cut a message anywhere: the reader says so, and reads zeros from there on.
TEST(Bytes, EveryTruncationIsNoticed) {
    ByteWriter out;
    out.u64(300);
    out.f64(2.5);
    out.blob("hello");
    out.i64(-1'000'000);
    out.boolean(true);
    const std::string whole = out.take();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        ByteReader in(std::string_view(whole).substr(0, size));
        in.u64();
        in.f64();
        in.blob();
        in.i64();
        in.boolean();
        EXPECT_FALSE(in.ok()) << size;
        EXPECT_FALSE(in.at_end());
        EXPECT_EQ(in.u64(), 0U);
        EXPECT_EQ(in.i64(), 0);
        EXPECT_EQ(in.f64(), 0.0);
        EXPECT_EQ(in.blob(), "");
        EXPECT_EQ(in.rest(), "");
    }
}

TEST(Bytes, MalformedFieldsAreBad) {
    const std::string endless(11, '\x80');
    ByteReader too_long(endless);
    too_long.u64();
    EXPECT_FALSE(too_long.ok());

    ByteReader too_large(std::string_view("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 10));
    EXPECT_EQ(too_large.u64(), 0U);
    EXPECT_FALSE(too_large.ok());

    ByteWriter out;
    out.u64(1ULL << 32);
    ByteReader narrow(out.bytes());
    EXPECT_EQ(narrow.u32(), 0U);
    EXPECT_FALSE(narrow.ok());

    ByteReader two(std::string_view("\x02", 1));
    EXPECT_FALSE(two.boolean());
    EXPECT_FALSE(two.ok());
}

TEST(Bytes, ACountNeverPassesWhatTheRestCanHold) {
    ByteWriter out;
    out.u64(4);
    out.raw("12345678");
    ByteReader fits(out.bytes());
    EXPECT_EQ(fits.count(2), 4U);
    EXPECT_TRUE(fits.ok());
    ByteReader none(out.bytes());
    EXPECT_EQ(none.count(3), 0U);
    EXPECT_FALSE(none.ok());
    ByteReader zero(out.bytes());
    EXPECT_EQ(zero.count(0), 4U);

    ByteWriter huge;
    huge.u64(~0ULL);
    ByteReader bounded(huge.bytes());
    EXPECT_EQ(bounded.count(8), 0U);
    EXPECT_FALSE(bounded.ok());
}

TEST(Bytes, RandomNumbersRoundTrip) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 20000; ++round) {
        const std::uint64_t value = random() >> (random() % 64);
        ByteWriter out;
        out.u64(value);
        out.i64(static_cast<std::int64_t>(value));
        out.i64(-static_cast<std::int64_t>(value >> 1));
        ByteReader in(out.bytes());
        EXPECT_EQ(in.u64(), value);
        EXPECT_EQ(in.i64(), static_cast<std::int64_t>(value));
        EXPECT_EQ(in.i64(), -static_cast<std::int64_t>(value >> 1));
        EXPECT_TRUE(in.at_end());
    }
}

TEST(Crc32c, KnownVectors) {
    EXPECT_EQ(wq::crc32c(""), 0U);
    EXPECT_EQ(wq::crc32c("123456789"), 0xE3069283U);
    EXPECT_EQ(wq::crc32c(std::string(32, '\0')), 0x8A9136AAU);    // RFC 3720, B.4
    EXPECT_EQ(wq::crc32c(std::string(32, '\xFF')), 0x62A8AB43U);  // RFC 3720, B.4
}

// Bit by bit, as the polynomial defines it.
TEST(Crc32c, AgreesWithItsDefinitionAtEveryLength) {
    std::mt19937 random(12);
    std::string text;
    for (int size = 0; size < 100; ++size, text += static_cast<char>(random())) {
        std::uint32_t value = 0xFFFFFFFF;
        for (const char c : text) {
            value ^= static_cast<unsigned char>(c);
            for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0U);
        }
        EXPECT_EQ(wq::crc32c(text), ~value) << size;
    }
}

TEST(Crc32c, PiecesGiveTheWhole) {
    const std::string text = "a journal record that comes in two pieces";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        EXPECT_EQ(wq::crc32c(text.substr(cut), wq::crc32c(text.substr(0, cut))), wq::crc32c(text));
    }
}

}  // namespace
