#include "records/journal/journal.h"

#include <map>
#include <optional>

#include "base/fields.h"
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
        kind > static_cast<std::uint8_t>(RecordKind::waiting)) {
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
    ByteReader reader(body.substr(1));
    const auto pass = [&]<class Record>(bool (*read)(ByteReader&, Record&),
                                        void (JournalVisitor::*take)(const Record&)) {
        Record record;
        if (!read(reader, record)) return false;
        (visitor.*take)(record);
        return true;
    };
    switch (static_cast<RecordKind>(body.front())) {
        case RecordKind::task:
            return pass(decode_task, &JournalVisitor::task);
        case RecordKind::worker:
            return pass(decode_worker, &JournalVisitor::worker);
        case RecordKind::sample:
            return pass.operator()<Sample>(decode, &JournalVisitor::sample);
        case RecordKind::category:
            return pass.operator()<CategoryRecord>(decode, &JournalVisitor::category);
        case RecordKind::attempt:
            return pass.operator()<TaskRecord>(decode, &JournalVisitor::task);
        case RecordKind::stay:
            return pass.operator()<WorkerRecord>(decode, &JournalVisitor::worker);
        case RecordKind::ask:
            return pass.operator()<AskRecord>(decode, &JournalVisitor::ask);
        case RecordKind::worker_change:
            return pass.operator()<WorkerChangeRecord>(decode, &JournalVisitor::worker_change);
        case RecordKind::waiting:
            return pass.operator()<WaitingRecord>(decode, &JournalVisitor::waiting);
        case RecordKind::run:
            break;
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
    if (scan.header.version < 1 || scan.header.version > RunHeader{}.version) {
        return Error{ExitCode::bad_input,
                     name + ": a journal of format " + std::to_string(scan.header.version) +
                         "; this program reads formats 1 to " + std::to_string(RunHeader{}.version)};
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

// ---- the lists of fields; what was added later stands behind them, by hand ----

template <class V>
void fields(RunHeader& header, V& visit) {
    visit(header.version, header.run_id, header.list_name, header.source_fingerprint, header.started_us);
}
template <class V>
void fields(TaskRecord& record, V& visit) {
    visit(record.task, record.key.value, record.attempt, record.final, record.worker, record.line,
          record.category, record.given, record.submitted_us, record.dispatched_us, record.received_us,
          record.outcome);
}
template <class V>
void fields(WorkerRecord& record, V& visit) {
    visit(record.worker, record.host, record.address, record.rank, record.offers, record.joined_us,
          record.left_us, record.why_left, record.tasks_done);
}
template <class V>
void fields(Sample& sample, V& visit) {
    visit(sample.time_us, sample.stats.time_when_started);
#define WQ_VISIT(type, name, unit, meaning) visit(sample.stats.name);
    WQ_MANAGER_STATS(WQ_VISIT)
#undef WQ_VISIT
}
template <class V>
void fields(CategoryRecord& record, V& visit) {
    visit(record.category, record.name);
}
template <class V>
void fields(AskRecord& record, V& visit) {
    visit(record.ask, record.needs, record.features);
    visit.require(record.ask != no_ask && record.ask.value() <= most_asks);
}
template <class V>
void fields(WorkerChangeRecord& record, V& visit) {
    visit(record.time_us, record.worker, record.change, record.why);
}
template <class V>
void fields(WaitingRecord& record, V& visit) {
    visit(record.time_us, record.ask, record.reason, record.tasks);
}

namespace {

template <class V>
void allocation_fields(CategoryRecord& record, V& visit) {
    visit(record.mode);
    for (engine::model::Sizes* sizes : {&record.max, &record.min, &record.first}) {
        for (const engine::model::ResourceKind kind : engine::model::resource_kinds) {
            visit(sizes->at(kind));
            visit.require(sizes->at(kind) >= engine::model::whole_worker);
        }
    }
    visit(record.changed_us);
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
    put_fields(out, header);
    return std::string(journal_mark) + end_record(std::move(out));
}

bool decode(ByteReader& in, RunHeader& header) {
    get_fields(in, header);
    return in.at_end();
}

namespace {

// What version 2 adds.
template <class V>
void later_fields(TaskRecord& record, V& visit) {
    visit(record.ready_us, record.ask, record.outcome.files.inputs_there_us,
          record.outcome.files.outputs_there_us);
}
template <class V>
void later_fields(WorkerRecord& record, V& visit) {
    visit(record.departure, record.process_started_us, record.job_started_us, record.job_ends_us,
          record.allocated_cores, record.job);
}
template <class Record>
std::string encode_with_later_fields(RecordKind kind, const Record& record, ByteWriter&& rest = {}) {
    ByteWriter out = begin_record(kind);
    put_fields(out, record);
    FieldWriter write(out);
    later_fields(const_cast<Record&>(record), write);  // which changes nothing
    out.raw(rest.take());
    return end_record(std::move(out));
}
template <class Record>
void get_with_later_fields(ByteReader& in, Record& record) {
    get_fields(in, record);
    FieldReader read(in);
    later_fields(record, read);
}

}  // namespace

std::string encode_record(const TaskRecord& record) {
    ByteWriter measured;
    if (record.outcome.measured) {  // only if it was watched
        put(measured, *record.outcome.measured);
        put_fields(measured, record.outcome.measured->disk_wait);
    }
    return encode_with_later_fields(RecordKind::attempt, record, std::move(measured));
}

bool decode(ByteReader& in, TaskRecord& record) {
    get_with_later_fields(in, record);
    if (in.at_end()) return true;
    get(in, record.outcome.measured.emplace());
    get_fields(in, record.outcome.measured->disk_wait);
    return in.at_end();
}

bool decode_task(ByteReader& in, TaskRecord& record) {
    get_fields(in, record);
    if (!in.at_end()) get(in, record.outcome.measured.emplace());
    return in.at_end();
}

std::string encode_record(const WorkerRecord& record) {
    return encode_with_later_fields(RecordKind::stay, record);
}

bool decode(ByteReader& in, WorkerRecord& record) {
    get_with_later_fields(in, record);
    return in.at_end();
}

bool decode_worker(ByteReader& in, WorkerRecord& record) {
    get_fields(in, record);
    if (in.at_end()) return true;  // it has not left, or the journal is older than this field
    const std::uint8_t departure = in.u8();
    if (departure <= static_cast<std::uint8_t>(Departure::asked)) record.departure = Departure{departure};
    return in.at_end();
}

std::string encode_record(const AskRecord& record) {
    ByteWriter out = begin_record(RecordKind::ask);
    put_fields(out, record);
    return end_record(std::move(out));
}

bool decode(ByteReader& in, AskRecord& record) {
    get_fields(in, record);
    return in.at_end();
}

std::string encode_record(const WorkerChangeRecord& record) {
    ByteWriter out = begin_record(RecordKind::worker_change);
    put_fields(out, record);
    return end_record(std::move(out));
}

bool decode(ByteReader& in, WorkerChangeRecord& record) {
    get_fields(in, record);
    return in.at_end();
}

std::string encode_record(const WaitingRecord& record) {
    ByteWriter out = begin_record(RecordKind::waiting);
    put_fields(out, record);
    return end_record(std::move(out));
}

bool decode(ByteReader& in, WaitingRecord& record) {
    get_fields(in, record);
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
    put_fields(out, sample);
#define WQ_PUT(type, name, unit, meaning) put_fields(out, sample.stats.name);
    if (has_own_figures(sample.stats)) {
        WQ_OWN_STATS(WQ_PUT)
    }
#undef WQ_PUT
    return end_record(std::move(out));
}

bool decode(ByteReader& in, Sample& sample) {
    get_fields(in, sample);
#define WQ_GET(type, name, unit, meaning) \
    if (!in.at_end()) get_fields(in, sample.stats.name);
    WQ_OWN_STATS(WQ_GET)
#undef WQ_GET
    return in.at_end();
}

std::string encode_record(const CategoryRecord& record) {
    ByteWriter out = begin_record(RecordKind::category);
    put_fields(out, record);
    if (record.changed_us != 0) {
        FieldWriter write(out);
        allocation_fields(const_cast<CategoryRecord&>(record), write);  // which changes nothing
    }
    return end_record(std::move(out));
}

bool decode(ByteReader& in, CategoryRecord& record) {
    get_fields(in, record);
    if (in.at_end()) return true;  // nothing more is known, or the journal is older than these fields
    FieldReader read(in);
    allocation_fields(record, read);
    return in.at_end();
}

}  // namespace wq::records::journal
