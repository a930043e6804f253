#include "records/journal/journal.h"

#include <map>
#include <optional>

#include "engine/model/codec.h"
#include "records/journal/append_file.h"

namespace wq::records::journal {

namespace {

// The bytes at `offset` that may be a record, by length and kind.
std::optional<std::string_view> framed_at(std::string_view bytes, std::size_t offset) {
    if (bytes.size() - offset < frame_bytes + 1) return std::nullopt;
    const char* at = bytes.data() + offset;
    const std::uint32_t length = load_u32(at);
    if (length == 0 || length > longest_record || length > bytes.size() - offset - frame_bytes)
        return std::nullopt;
    const auto kind = static_cast<std::uint8_t>(at[frame_bytes]);
    if (kind < static_cast<std::uint8_t>(RecordKind::run) ||
        kind > static_cast<std::uint8_t>(RecordKind::category)) {
        return std::nullopt;
    }
    return bytes.substr(offset + frame_bytes, length);
}

bool sound(std::string_view bytes, std::size_t offset, std::string_view body) {
    const auto length = static_cast<std::uint32_t>(body.size());
    return frame_checksum(length, body) == load_u32(bytes.data() + offset + 4);
}

// The record at `offset`: kind and payload; nullopt unless it is complete and intact.
std::optional<std::string_view> record_at(std::string_view bytes, std::size_t offset) {
    const auto body = framed_at(bytes, offset);
    return body && sound(bytes, offset, *body) ? body : std::nullopt;
}

bool visit(std::string_view body, JournalVisitor& visitor) {
    const auto kind = static_cast<RecordKind>(body.front());
    ByteReader reader(body.substr(1));
    if (kind == RecordKind::task) {
        TaskRecord record;
        if (!decode(reader, record)) return false;
        visitor.task(record);
        return true;
    }
    if (kind == RecordKind::worker) {
        WorkerRecord record;
        if (!decode(reader, record)) return false;
        visitor.worker(record);
        return true;
    }
    if (kind == RecordKind::sample) {
        Sample sample;
        if (!decode(reader, sample)) return false;
        visitor.sample(sample);
        return true;
    }
    if (kind == RecordKind::category) {
        CategoryRecord record;
        if (!decode(reader, record)) return false;
        visitor.category(record);
        return true;
    }
    return false;  // a second header
}

// Checks fields before checksums, because fields that are no record usually end early: checking a tail of 2.7
// MB that frames a record at every eighth byte by checksums alone took minutes.
bool sound_record_behind(std::string_view bytes, std::size_t offset) {
    struct : JournalVisitor {
        void task(const TaskRecord&) override {}
        void worker(const WorkerRecord&) override {}
        void sample(const Sample&) override {}
    } nobody;
    for (std::size_t at = offset + 1; at + frame_bytes < bytes.size(); ++at) {
        const auto body = framed_at(bytes, at);
        if (body && visit(*body, nobody) && sound(bytes, at, *body)) return true;
    }
    return false;
}

Error damaged(const std::string& name, std::size_t offset) {
    return {ExitCode::bad_input, name + ": damaged at byte " + std::to_string(offset) +
                                     "; restore it from a copy, or start again in another run directory"};
}

// The header's body, and the offset of the first record.
Result<std::string_view> header_record(std::string_view bytes, const std::string& name) {
    if (bytes.substr(0, journal_mark.size()) != journal_mark) {
        return Error{ExitCode::bad_input, name + ": not the journal of a run (it does not begin with " +
                                              std::string(journal_mark) + ")"};
    }
    const auto body = record_at(bytes, journal_mark.size());
    if (!body || static_cast<RecordKind>(body->front()) != RecordKind::run) {
        return damaged(name, journal_mark.size());
    }
    return *body;
}

class RecordCollector : public JournalVisitor {
  public:
    explicit RecordCollector(JournalContents& contents) : contents_(contents) {}

    void task(const TaskRecord& record) override { contents_.tasks.push_back(record); }

    void worker(const WorkerRecord& record) override {
        const auto [known, is_new] =
            worker_.try_emplace({record.worker.value(), record.joined_us}, contents_.workers.size());
        if (is_new) {
            contents_.workers.push_back(record);
        } else {
            contents_.workers[known->second] = record;
        }
    }

    void sample(const Sample&) override {}

  private:
    JournalContents& contents_;
    std::map<std::pair<std::uint32_t, WallMicros>, std::size_t> worker_;
};

}  // namespace

Result<JournalScan> scan_journal_bytes(std::string_view bytes, const std::string& name,
                                       JournalVisitor& visitor) {
    const auto header = header_record(bytes, name);
    if (!header) return header.error();
    JournalScan scan;
    ByteReader reader(header->substr(1));
    const bool whole = decode(reader, scan.header);
    if (scan.header.version != 1) {
        return Error{ExitCode::bad_input, name + ": a journal of format " +
                                              std::to_string(scan.header.version) +
                                              "; this program reads format 1"};
    }
    if (!whole) return damaged(name, journal_mark.size());

    std::size_t offset = journal_mark.size() + frame_bytes + header->size();
    while (offset < bytes.size()) {
        const auto body = record_at(bytes, offset);
        if (!body) {
            if (sound_record_behind(bytes, offset)) return damaged(name, offset);
            scan.torn = true;
            break;
        }
        if (!visit(*body, visitor)) return damaged(name, offset);
        offset += frame_bytes + body->size();
    }
    scan.valid_bytes = offset;
    return scan;
}

Result<JournalScan> scan_journal(const std::string& path, JournalVisitor& visitor) {
    const auto file = MappedFile::open(path);
    if (!file) return file.error();
    return scan_journal_bytes(file->bytes(), path, visitor);
}

Result<JournalContents> read_journal(const std::string& path) {
    JournalContents contents;
    RecordCollector collector(contents);
    const auto scan = scan_journal(path, collector);
    if (!scan) return scan.error();
    contents.header = scan->header;
    contents.valid_bytes = scan->valid_bytes;
    contents.torn = scan->torn;
    return contents;
}

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
