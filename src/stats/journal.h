// The journal: append-only, checksummed, the truth of a run. Layout, version 1:
//   header: "WQJOURN1" then one record of kind `run`
//   record: u32 length (LE) of what follows the checksum | u32 CRC-32C of it | kind u8 | payload (base/bytes.h)
// A torn last record is what a crash leaves: it is cut off. Damage before the last record is refused with its
// byte offset: what follows cannot be trusted.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "stats/records.h"

namespace wq::stats {

struct RunHeader {
    std::uint32_t version = 1;
    std::string run_id;
    std::string list_name;
    std::uint64_t source_fingerprint = 0;
    WallMicros started_us = 0;
};

struct JournalContents {
    RunHeader header;
    std::vector<TaskRecord> tasks;       // in order of their ends
    std::vector<WorkerRecord> workers;   // the last of each
    std::uint64_t valid_bytes = 0;       // appending goes on here
    bool torn = false;
};

// Error bad_input: no journal, another format, or damage ("journal damaged at byte 4711 ...").
Result<JournalContents> read_journal(const std::string& path);

std::string encode_header(const RunHeader& header);
std::string encode_record(const TaskRecord& record);
std::string encode_record(const WorkerRecord& record);

}  // namespace wq::stats
