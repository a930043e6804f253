// Common to the journal's reader and writer: the frame of a record, and the encoding of payloads.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "records/journal/journal.h"

namespace wq::records::journal {

enum class RecordKind : std::uint8_t { run = 1, task = 2, worker = 3, sample = 4, category = 5 };

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

}  // namespace wq::records::journal
