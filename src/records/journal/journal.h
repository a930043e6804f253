// The journal: append-only, checksummed, the authoritative record of a run. Layout, version 1:
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

#include "base/result.h"
#include "records/journal/records.h"

namespace wq::records::journal {

struct RunHeader {
    std::uint32_t version = 1;
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
    virtual void category(const CategoryRecord&) {}  // journals of before they were kept have none
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

}  // namespace wq::records::journal
