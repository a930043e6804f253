#include "engine/model/codec.h"

#include <limits>

namespace wq::engine::model {

namespace {

void put_amount(ByteWriter& out, std::int64_t amount) {
    out.i64(amount);
}
std::int64_t get_amount(ByteReader& in, std::int64_t least) {
    const std::int64_t amount = in.i64();
    if (amount < least || amount > most_size) in.fail();
    return amount;
}

// Whole counts are stored as they are, as in journals from before fractions existed; n thousandths as -n - 1,
// which is at most -2.
void put_count(ByteWriter& out, Count count) {
    put_amount(out, count.is_whole() ? count.thousandths() / 1000 : -count.thousandths() - 1);
}
Count get_count(ByteReader& in, std::int64_t least) {
    const std::int64_t number = in.i64();
    if (number >= least && number >= -1 && number <= most_size) return number;
    if (number > -2 || number < -1000 * most_size || (-number - 1) % 1000 == 0) in.fail();
    return Count::of_thousandths(-(number + 1));
}

// Without coprocesses: launchers and journals have none.
template <class Amounts>
void put_amounts(ByteWriter& out, const Amounts& value) {
    put_count(out, value.cores);
    put_amount(out, value.memory_mb);
    put_amount(out, value.disk_mb);
    put_count(out, value.gpus);
}

template <class Amounts>
void get_amounts(ByteReader& in, Amounts& value, std::int64_t least) {
    value.cores = get_count(in, least);
    value.memory_mb = get_amount(in, least);
    value.disk_mb = get_amount(in, least);
    value.gpus = get_count(in, least);
}

int get_int(ByteReader& in) {
    const std::int64_t number = in.i64();
    if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) in.fail();
    return static_cast<int>(number);
}

}  // namespace

void put(ByteWriter& out, const Resources& value) {
    put_amounts(out, value);
}
void get(ByteReader& in, Resources& value) {
    get_amounts(in, value, 0);
}

void put(ByteWriter& out, const Needs& value) {
    put_amounts(out, value);
}
void get(ByteReader& in, Needs& value) {
    get_amounts(in, value, -1);
}

void put(ByteWriter& out, const Outcome& value) {
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

void get(ByteReader& in, Outcome& value) {
    const std::uint8_t ending = in.u8();
    if (ending >= ending_count)
        in.fail();
    else
        value.ending = static_cast<Ending>(ending);
    value.exit_code = get_int(in);
    value.signal = get_int(in);
    for (std::int64_t* field : {&value.started_us, &value.wall_us, &value.user_us, &value.system_us,
                                &value.peak_memory_kb, &value.bytes_read, &value.bytes_written})
        *field = in.i64();
    value.stdout_bytes = in.u64();
    value.stderr_bytes = in.u64();
    value.reason = in.blob();
}

namespace {

void put_sizes(ByteWriter& out, const Sizes& sizes) {
    for (const ResourceKind kind : resource_kinds) out.i64(sizes.at(kind));
}
Sizes get_sizes(ByteReader& in) {
    Sizes sizes;
    for (const ResourceKind kind : resource_kinds) sizes.at(kind) = get_amount(in, unsaid);
    return sizes;
}

void put_usage(ByteWriter& out, const Usage& usage) {
#define WQ_PUT(name, unit, meaning) out.i64(usage.name);
    WQ_USAGE(WQ_PUT)
#undef WQ_PUT
}
Usage get_usage(ByteReader& in) {
    Usage usage;
#define WQ_GET(name, unit, meaning) usage.name = in.i64();
    WQ_USAGE(WQ_GET)
#undef WQ_GET
    return within_bounds(usage);
}

}  // namespace

void put(ByteWriter& out, const Watch& value) {
    out.boolean(value.measures);
    put_sizes(out, value.limits);
    out.boolean(value.series);
}
void get(ByteReader& in, Watch& value) {
    value.measures = in.boolean();
    value.limits = get_sizes(in);
    value.series = in.boolean();
}

void put(ByteWriter& out, const Measured& value) {
    put_usage(out, value.usage);
    put_sizes(out, value.exceeded);
}
void get(ByteReader& in, Measured& value) {
    value.usage = get_usage(in);
    value.exceeded = get_sizes(in);
}

void put(ByteWriter& out, const MonitorReport& value) {
    out.i64(value.machine_cpus);
    out.i64(value.machine_load);
    put_usage(out, value.peak_us);
    out.u64(value.points.size());
    for (const UsagePoint& point : value.points) {
        out.i64(point.at_us);
        out.blob(point.label);
        put_usage(out, point.usage);
    }
}
void get(ByteReader& in, MonitorReport& value) {
    value.machine_cpus = in.i64();
    value.machine_load = in.i64();
    value.peak_us = get_usage(in);
    const std::uint64_t count = in.u64();
    for (std::uint64_t n = 0; n < count && in.ok(); ++n) {
        UsagePoint& point = value.points.emplace_back();
        point.at_us = in.i64();
        point.label = in.blob();
        point.usage = get_usage(in);
    }
}

void put(ByteWriter& out, const Output& value) {
    out.blob(value.out);
    out.blob(value.err);
}
void get(ByteReader& in, Output& value) {
    value.out = in.blob();
    value.err = in.blob();
}

}  // namespace wq::engine::model
