#include "engine/model/codec.h"

#include <gtest/gtest.h>

#include <limits>

namespace wq::engine::model {
namespace {

template <class Value>
Value there_and_back(const Value& value) {
    ByteWriter out;
    put(out, value);
    ByteReader in(out.bytes());
    Value read;
    get(in, read);
    EXPECT_TRUE(in.at_end());
    return read;
}

template <class Value>
bool refused(const std::string& bytes) {
    ByteReader in(bytes);
    Value read;
    get(in, read);
    return !in.ok();
}

template <class... Fields>
std::string amounts(Fields... fields) {
    ByteWriter out;
    (out.i64(fields), ...);
    return out.take();
}

TEST(Codec, ValuesComeBack) {
    const Resources whole{64, 1 << 20, 5, 2};
    EXPECT_EQ(there_and_back(whole), whole);
    const Resources parts{Count::of_thousandths(1), 3, 4, Count::of_thousandths(99'999'001)};
    EXPECT_EQ(there_and_back(parts), parts);
    const Needs needs{1, -1, 0, -1};
    EXPECT_EQ(there_and_back(needs), needs);
    const Output output{std::string("a\0b", 3), "err"};
    EXPECT_EQ(there_and_back(output).out, output.out);
    EXPECT_EQ(there_and_back(output).err, output.err);
    const Outcome outcome{
        Ending::never_ran, std::numeric_limits<int>::min(), 9, -1, 2, 3, 4, 5, 6, 7, ~0ull, 9, "why"};
    const Outcome read = there_and_back(outcome);
    EXPECT_EQ(read.ending, outcome.ending);
    EXPECT_EQ(read.exit_code, outcome.exit_code);
    EXPECT_EQ(read.signal, outcome.signal);
    EXPECT_EQ(read.started_us, outcome.started_us);
    EXPECT_EQ(read.wall_us, outcome.wall_us);
    EXPECT_EQ(read.user_us, outcome.user_us);
    EXPECT_EQ(read.system_us, outcome.system_us);
    EXPECT_EQ(read.peak_memory_kb, outcome.peak_memory_kb);
    EXPECT_EQ(read.bytes_read, outcome.bytes_read);
    EXPECT_EQ(read.bytes_written, outcome.bytes_written);
    EXPECT_EQ(read.stdout_bytes, outcome.stdout_bytes);
    EXPECT_EQ(read.stderr_bytes, outcome.stderr_bytes);
    EXPECT_EQ(read.reason, outcome.reason);
}

TEST(Codec, AmountsBeyondReasonAreRefused) {
    EXPECT_FALSE(refused<Resources>(amounts(0, 0, 0, 0)));
    EXPECT_TRUE(refused<Resources>(amounts(0, -1, 0, 0)));
    EXPECT_FALSE(refused<Needs>(amounts(-1, -1, -1, -1)));
    EXPECT_TRUE(refused<Needs>(amounts(-1, -1, -2, -1)));
    EXPECT_FALSE(refused<Resources>(amounts(-501, 0, 0, -251)));  // half a core, a quarter of a GPU
    EXPECT_TRUE(refused<Resources>(amounts(-1001, 0, 0, 0))) << "a whole one is itself";
    EXPECT_TRUE(refused<Resources>(amounts(INT64_MIN, 0, 0, 0)));
    const std::int64_t most = std::int64_t{1} << 40;
    EXPECT_FALSE(refused<Resources>(amounts(most, most, most, most)));
    EXPECT_TRUE(refused<Resources>(amounts(0, 0, most + 1, 0)));
}

TEST(Codec, OutcomesThatNoneWritesAreRefused) {
    ByteWriter out;
    put(out, Outcome{});
    std::string bytes = out.take();
    EXPECT_FALSE(refused<Outcome>(bytes));
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_TRUE(refused<Outcome>(bytes.substr(0, size)));
    bytes[0] = static_cast<char>(ending_count);
    EXPECT_TRUE(refused<Outcome>(bytes)) << "an ending that is not known";
    ByteWriter large;
    large.u8(0);
    large.i64(std::int64_t{std::numeric_limits<int>::max()} + 1);
    EXPECT_TRUE(refused<Outcome>(large.take() + bytes.substr(2))) << "an exit code that is no int";
}

TEST(Codec, WhatWasMeasuredIsHeldToItsBounds) {
    Measured measured;
    measured.usage.cores = measured.usage.memory = measured.usage.cpu_time = INT64_MAX;
    measured.usage.disk = measured.usage.bytes_read = INT64_MIN;
    measured.usage.files = 12;
    const Usage read = there_and_back(measured).usage;
    EXPECT_EQ(read.cores, most_size);
    EXPECT_EQ(read.memory, most_size);
    EXPECT_EQ(read.cpu_time, most_measured);
    EXPECT_EQ(read.disk, unsaid);
    EXPECT_EQ(read.bytes_read, unsaid);
    EXPECT_EQ(read.files, 12);
}

}  // namespace
}  // namespace wq::engine::model
