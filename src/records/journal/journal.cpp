#include "records/journal/journal.h"

#include <map>
#include <optional>

#include "records/journal/journal_format.h"
#include "records/journal/mapped_file.h"

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

}  // namespace wq::records::journal
