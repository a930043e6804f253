#include "records/journal/journal_format.h"

#include "engine/model/codec.h"

namespace wq::records::journal {

namespace {

void put(ByteWriter& out, std::int64_t value) {
    out.i64(value);
}
void put(ByteWriter& out, double value) {
    out.f64(value);
}

void get(ByteReader& in, std::int64_t& value) {
    value = in.i64();
}
void get(ByteReader& in, double& value) {
    value = in.f64();
}
void get(ByteReader& in, std::string& value) {
    value = in.blob();
}

void put(ByteWriter& out, const engine::model::Sizes& sizes) {
    for (const engine::model::ResourceKind kind : engine::model::resource_kinds) out.i64(sizes.at(kind));
}
void get(ByteReader& in, engine::model::Sizes& sizes) {
    for (const engine::model::ResourceKind kind : engine::model::resource_kinds) {
        sizes.at(kind) = in.i64();
        if (sizes.at(kind) < engine::model::whole_worker) in.fail();
    }
}

ByteWriter begin_record(RecordKind kind) {
    ByteWriter out;
    out.raw(std::string_view("\0\0\0\0\0\0\0\0", frame_bytes));
    out.u8(static_cast<std::uint8_t>(kind));
    return out;
}

std::string end_record(ByteWriter&& out) {
    std::string bytes = out.take();
    const auto length = static_cast<std::uint32_t>(bytes.size() - frame_bytes);
    store_u32(bytes.data(), length);
    store_u32(bytes.data() + 4, frame_checksum(length, std::string_view(bytes).substr(frame_bytes)));
    return bytes;
}

}  // namespace

void store_u32(char* at, std::uint32_t value) {
    for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

std::uint32_t load_u32(const char* at) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<std::uint8_t>(at[i])} << (8 * i);
    return value;
}

std::uint32_t frame_checksum(std::uint32_t length, std::string_view kind_and_payload) {
    char bytes[4];
    store_u32(bytes, length);
    return crc32c(kind_and_payload, crc32c(std::string_view(bytes, sizeof bytes)));
}

std::string encode_header(const RunHeader& header) {
    ByteWriter out = begin_record(RecordKind::run);
    out.u64(header.version);
    out.blob(header.run_id), out.blob(header.list_name);
    out.u64(header.source_fingerprint), out.i64(header.started_us);
    return std::string(journal_mark) + end_record(std::move(out));
}

bool decode(ByteReader& in, RunHeader& header) {
    header.version = in.u32();
    get(in, header.run_id), get(in, header.list_name);
    header.source_fingerprint = in.u64(), get(in, header.started_us);
    return in.at_end();
}

std::string encode_record(const TaskRecord& record) {
    ByteWriter out = begin_record(RecordKind::task);
    out.u64(record.task.value()), out.u64(record.key.value), out.u64(record.attempt);
    out.boolean(record.final), out.u64(record.worker.value()), out.u64(record.line);
    out.u64(record.category.value()), put(out, record.given);
    out.i64(record.submitted_us), out.i64(record.dispatched_us), out.i64(record.received_us);
    put(out, record.outcome);
    if (record.outcome.measured) put(out, *record.outcome.measured);
    return end_record(std::move(out));
}

bool decode(ByteReader& in, TaskRecord& record) {
    record.task = TaskId(in.u64()), record.key.value = in.u64(), record.attempt = in.u32();
    record.final = in.boolean(), record.worker = WorkerId(in.u32()), record.line = in.u64();
    record.category = CategoryId(in.u32()), get(in, record.given);
    get(in, record.submitted_us), get(in, record.dispatched_us), get(in, record.received_us);
    get(in, record.outcome);
    if (!in.at_end()) get(in, record.outcome.measured.emplace());  // only if it was watched
    return in.at_end();
}

std::string encode_record(const WorkerRecord& record) {
    ByteWriter out = begin_record(RecordKind::worker);
    out.u64(record.worker.value()), out.blob(record.host), out.blob(record.address), out.u64(record.rank);
    put(out, record.offers), out.i64(record.joined_us), out.i64(record.left_us);
    out.blob(record.why_left), out.u64(record.tasks_done);
    if (record.left_us != 0) out.u8(static_cast<std::uint8_t>(record.departure));
    return end_record(std::move(out));
}

bool decode(ByteReader& in, WorkerRecord& record) {
    record.worker = WorkerId(in.u32()), get(in, record.host), get(in, record.address), record.rank = in.u32();
    get(in, record.offers), get(in, record.joined_us), get(in, record.left_us);
    get(in, record.why_left), record.tasks_done = in.u64();
    if (in.at_end()) return true;  // it has not left, or the journal is older than this field
    const std::uint8_t departure = in.u8();
    if (departure <= static_cast<std::uint8_t>(Departure::asked)) record.departure = Departure{departure};
    return in.at_end();
}

namespace {

// Added later: without any, a row has the format of the first journals.
bool has_own_figures(const engine::model::ManagerStats& stats) {
#define WQ_ANY(type, name, unit, meaning) \
    if (stats.name != 0) return true;
    WQ_OWN_STATS(WQ_ANY)
#undef WQ_ANY
    return false;
}

}  // namespace

std::string encode_record(const Sample& sample) {
    ByteWriter out = begin_record(RecordKind::sample);
    out.i64(sample.time_us), out.i64(sample.stats.time_when_started);
#define WQ_PUT(type, name, unit, meaning) put(out, sample.stats.name);
    WQ_MANAGER_STATS(WQ_PUT)
    if (has_own_figures(sample.stats)) {
        WQ_OWN_STATS(WQ_PUT)
    }
#undef WQ_PUT
    return end_record(std::move(out));
}

bool decode(ByteReader& in, Sample& sample) {
    get(in, sample.time_us), get(in, sample.stats.time_when_started);
#define WQ_GET(type, name, unit, meaning) get(in, sample.stats.name);
    WQ_MANAGER_STATS(WQ_GET)
#undef WQ_GET
#define WQ_GET(type, name, unit, meaning) \
    if (!in.at_end()) get(in, sample.stats.name);
    WQ_OWN_STATS(WQ_GET)
#undef WQ_GET
    return in.at_end();
}

std::string encode_record(const CategoryRecord& record) {
    ByteWriter out = begin_record(RecordKind::category);
    out.u64(record.category.value()), out.blob(record.name);
    if (record.changed_us != 0) {
        out.u8(static_cast<std::uint8_t>(record.mode));
        for (const engine::model::Sizes* sizes : {&record.max, &record.min, &record.first}) put(out, *sizes);
        out.i64(record.changed_us);
    }
    return end_record(std::move(out));
}

bool decode(ByteReader& in, CategoryRecord& record) {
    record.category = CategoryId(in.u32()), get(in, record.name);
    if (in.at_end()) return true;  // nothing more is known, or the journal is older than these fields
    const std::uint8_t mode = in.u8();
    if (mode > static_cast<std::uint8_t>(engine::model::last_mode)) in.fail();
    record.mode = engine::model::AllocationMode{mode};
    for (engine::model::Sizes* sizes : {&record.max, &record.min, &record.first}) get(in, *sizes);
    get(in, record.changed_us);
    return in.at_end();
}

}  // namespace wq::records::journal
