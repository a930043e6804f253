#include "engine/model/codec.h"

#include "base/fields.h"

namespace wq::engine::model {

// Not named `fields`: messages have lists of their own for these types, with other fields.
namespace {

// Whole counts are stored as they are, as in journals from before fractions existed; n thousandths as -n - 1,
// which is at most -2.
template <class V>
void list_count(Count& count, std::int64_t least, V& visit) {
    std::int64_t number = count.is_whole() ? count.thousandths() / 1000 : -count.thousandths() - 1;
    visit(number);
    if constexpr (V::reads) {
        const bool whole = number >= -1;
        const bool fits = whole ? number >= least && number <= most_size
                                : number >= -1000 * most_size && (-number - 1) % 1000 != 0;
        visit.require(fits);
        if (fits) count = whole ? Count(number) : Count::of_thousandths(-(number + 1));
    }
}

template <class V>
void list_amount(std::int64_t& amount, std::int64_t least, V& visit) {
    visit(amount);
    visit.require(amount >= least && amount <= most_size);
}

// Without coprocesses: launchers and journals have none.
template <class Amounts, class V>
void list_amounts(Amounts& value, std::int64_t least, V& visit) {
    list_count(value.cores, least, visit);
    list_amount(value.memory_mb, least, visit);
    list_amount(value.disk_mb, least, visit);
    list_count(value.gpus, least, visit);
}
template <class V>
void list_fields(Resources& value, V& visit) {
    list_amounts(value, 0, visit);
}
template <class V>
void list_fields(Needs& value, V& visit) {
    list_amounts(value, -1, visit);
}

template <class V>
void list_fields(Sizes& value, V& visit) {
    for (const ResourceKind kind : resource_kinds) list_amount(value.at(kind), unsaid, visit);
}

template <class V>
void list_fields(Usage& value, V& visit) {
#define WQ_VISIT(name, unit, meaning) visit(value.name);
    WQ_USAGE(WQ_VISIT)
#undef WQ_VISIT
    if constexpr (V::reads) value = within_bounds(value);
}

template <class V>
void list_fields(Outcome& value, V& visit) {
    visit(value.ending, value.exit_code, value.signal, value.started_us, value.wall_us, value.user_us,
          value.system_us, value.peak_memory_kb, value.bytes_read, value.bytes_written, value.stdout_bytes,
          value.stderr_bytes, value.reason);
}

template <class V>
void list_fields(Output& value, V& visit) {
    visit(value.out, value.err);
}

template <class V>
void list_fields(Watch& value, V& visit) {
    visit(value.measures);
    list_fields(value.limits, visit);
    visit(value.series);
}

template <class V>
void list_fields(Measured& value, V& visit) {
    list_fields(value.usage, visit);
    list_fields(value.exceeded, visit);
}

template <class V>
void list_fields(MonitorReport& value, V& visit) {
    visit(value.machine_cpus, value.machine_load);
    list_fields(value.peak_us, visit);
    visit.each(value.points, [&](UsagePoint& point) {
        visit(point.at_us, point.label);
        list_fields(point.usage, visit);
    });
}

template <class T>
void put_listed(ByteWriter& out, const T& value) {
    FieldWriter visit(out);
    list_fields(const_cast<T&>(value), visit);  // which changes nothing
}
template <class T>
void get_listed(ByteReader& in, T& value) {
    FieldReader visit(in);
    list_fields(value, visit);
}

}  // namespace

void put(ByteWriter& out, const Resources& value) {
    put_listed(out, value);
}
void put(ByteWriter& out, const Needs& value) {
    put_listed(out, value);
}
void put(ByteWriter& out, const Outcome& value) {
    put_listed(out, value);
}
void put(ByteWriter& out, const Output& value) {
    put_listed(out, value);
}
void put(ByteWriter& out, const Watch& value) {
    put_listed(out, value);
}
void put(ByteWriter& out, const Measured& value) {
    put_listed(out, value);
}
void put(ByteWriter& out, const MonitorReport& value) {
    put_listed(out, value);
}

void get(ByteReader& in, Resources& value) {
    get_listed(in, value);
}
void get(ByteReader& in, Needs& value) {
    get_listed(in, value);
}
void get(ByteReader& in, Outcome& value) {
    get_listed(in, value);
}
void get(ByteReader& in, Output& value) {
    get_listed(in, value);
}
void get(ByteReader& in, Watch& value) {
    get_listed(in, value);
}
void get(ByteReader& in, Measured& value) {
    get_listed(in, value);
}
void get(ByteReader& in, MonitorReport& value) {
    get_listed(in, value);
}

}  // namespace wq::engine::model
