#include "wire/codec.h"

#include <limits>

namespace wq::wire {

void put(ByteWriter& out, const core::Resources& value) {
    out.i64(value.cores);
    out.i64(value.memory_mb);
    out.i64(value.disk_mb);
    out.i64(value.gpus);
}

namespace {
// Keeps sums of a hundred thousand workers far from overflow.
constexpr std::int64_t most_resource = std::int64_t{1} << 40;
constexpr std::int64_t most_figure = std::int64_t{1} << 52;
}  // namespace

void get(ByteReader& in, core::Resources& value) {
    for (std::int64_t* field : {&value.cores, &value.memory_mb, &value.disk_mb, &value.gpus}) {
        *field = in.i64();
        if (*field < 0 || *field > most_resource) in.fail();
    }
}

void put(ByteWriter& out, const core::Needs& value) {
    out.i64(value.cores);
    out.i64(value.memory_mb);
    out.i64(value.disk_mb);
    out.i64(value.gpus);
}

void get(ByteReader& in, core::Needs& value) {
    for (std::int64_t* field : {&value.cores, &value.memory_mb, &value.disk_mb, &value.gpus}) {
        *field = in.i64();
        if (*field < -1 || *field > most_resource) in.fail();
    }
}

void put(ByteWriter& out, const core::Outcome& value) {
    out.u8(static_cast<std::uint8_t>(value.ending));
    out.i64(value.exit_code);
    out.i64(value.signal);
    for (const std::int64_t field : {value.started_us, value.wall_us, value.user_us, value.system_us,
                                     value.peak_memory_kb, value.bytes_read, value.bytes_written})
        out.i64(field);
    out.u64(value.stdout_bytes);
    out.u64(value.stderr_bytes);
    out.blob(value.reason);
}

void get(ByteReader& in, core::Outcome& value) {
    const std::uint8_t ending = in.u8();
    if (ending > static_cast<std::uint8_t>(core::Ending::never_ran)) in.fail();
    value.ending = static_cast<core::Ending>(ending);
    const auto small = [&] {
        const std::int64_t number = in.i64();
        if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) in.fail();
        return static_cast<int>(number);
    };
    value.exit_code = small();
    value.signal = small();
    for (std::int64_t* field : {&value.started_us, &value.wall_us, &value.user_us, &value.system_us,
                                &value.peak_memory_kb, &value.bytes_read, &value.bytes_written})
        *field = in.i64();
    value.stdout_bytes = in.u64();
    value.stderr_bytes = in.u64();
    value.reason = in.blob();
}

void put(ByteWriter& out, const IntervalSet& value) {
    out.u64(value.ranges());
    std::uint64_t last = 0;
    value.for_each([&](Interval range) {
        out.u64(range.first - last);
        out.u64(range.size());
        last = range.end;
    });
}

void get(ByteReader& in, IntervalSet& value) {
    constexpr std::uint64_t most = std::uint64_t{1} << 62;
    const std::uint64_t ranges = in.count(2);
    std::uint64_t last = 0;
    for (std::uint64_t index = 0; index < ranges && in.ok(); ++index) {
        const std::uint64_t gap = in.u64();
        const std::uint64_t size = in.u64();
        if (gap > most || size > most || size == 0 || last + gap + size > most) return in.fail();
        value.insert({last + gap, last + gap + size});
        last += gap + size;
    }
}

}  // namespace wq::wire
