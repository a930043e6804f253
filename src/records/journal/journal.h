// The journal: append-only, checksummed, the authoritative record of a run. Layout:
//   "WQJOURN1", then a record of kind `run`, then records of the other kinds
//   record: u32 length (LE) of kind and payload | u32 CRC-32C (LE) of these three | kind u8 | payload
//   (base/bytes.h)
// The checksum covers the length, so that no flipped bit can make a record swallow those after it.
//
// A crash may leave an incomplete last record: it is truncated. An unreadable record with a readable one
// anywhere after it is damage, and the journal is refused with its byte offset: nobody knows what was lost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "records/journal/records.h"

namespace wq::records::journal {

struct RunHeader {
    std::uint32_t version = 2;  // 1: without the records from RecordKind::attempt on
    std::string run_id;
    std::string list_name;
    std::uint64_t source_fingerprint = 0;
    WallMicros started_us = 0;
};

struct JournalContents {
    RunHeader header;
    std::vector<TaskRecord> tasks;      // in order of their ends
    std::vector<WorkerRecord> workers;  // the last of each, by id and join time
    std::uint64_t valid_bytes = 0;      // appending continues here
    bool torn = false;
};

// Error bad_input: no journal, another format, or damage ("RUN/journal: damaged at byte 4711; ...").
Result<JournalContents> read_journal(const std::string& path);

// The same without holding it in memory: the records in their order.
class JournalVisitor {
  public:
    virtual ~JournalVisitor() = default;
    virtual void task(const TaskRecord& record) = 0;
    virtual void worker(const WorkerRecord& record) = 0;
    virtual void sample(const Sample& sample) = 0;
    virtual void category(const CategoryRecord&) {}  // older journals have none, as of the next three
    virtual void ask(const AskRecord&) {}
    virtual void worker_change(const WorkerChangeRecord&) {}
    virtual void waiting(const WaitingRecord&) {}
};
struct JournalScan {
    RunHeader header;
    std::uint64_t valid_bytes = 0;
    bool torn = false;
};
Result<JournalScan> scan_journal(const std::string& path, JournalVisitor& visitor);
Result<JournalScan> scan_journal_bytes(std::string_view bytes, const std::string& name,
                                       JournalVisitor& visitor);

// With the mark and the record of kind `run`: the beginning of a journal.
std::string encode_header(const RunHeader& header);
std::string encode_record(const TaskRecord& record);
std::string encode_record(const WorkerRecord& record);
std::string encode_record(const Sample& sample);
std::string encode_record(const CategoryRecord& record);
std::string encode_record(const AskRecord& record);
std::string encode_record(const WorkerChangeRecord& record);
std::string encode_record(const WaitingRecord& record);

// Common to the journal's reader and writer: the frame of a record, and the encoding of payloads.
enum class RecordKind : std::uint8_t {
    run = 1,
    task = 2,    // of version 1; now `attempt`
    worker = 3,  // of version 1; now `stay`
    sample = 4,
    category = 5,
    attempt = 6,
    stay = 7,
    ask = 8,
    worker_change = 9,
    waiting = 10,
};

inline constexpr std::string_view journal_mark = "WQJOURN1";
inline constexpr std::size_t frame_bytes = 8;               // length and checksum
inline constexpr std::uint32_t longest_record = 64u << 20;  // of kind and payload

void store_u32(char* at, std::uint32_t value);
std::uint32_t load_u32(const char* at);
std::uint32_t frame_checksum(std::uint32_t length, std::string_view kind_and_payload);

// False: not written by this version's encoder.
bool decode(ByteReader& reader, RunHeader& header);
bool decode(ByteReader& reader, TaskRecord& record);
bool decode(ByteReader& reader, WorkerRecord& record);
bool decode(ByteReader& reader, Sample& sample);
bool decode(ByteReader& reader, CategoryRecord& record);
bool decode(ByteReader& reader, AskRecord& record);
bool decode(ByteReader& reader, WorkerChangeRecord& record);
bool decode(ByteReader& reader, WaitingRecord& record);
// Records of version 1.
bool decode_task(ByteReader& reader, TaskRecord& record);
bool decode_worker(ByteReader& reader, WorkerRecord& record);

}  // namespace wq::records::journal
