// What a worker asks of the process that has the works, and the answers, as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "slices/queue/slice_works.h"
#include "slices/sources/source_file.h"

namespace wq::slices::queue {

// ---- requests ----

struct AskPass {};  // answer: Pass::bytes()
struct AskWhereabouts {
    Slice slice;
    ReadAs as;
};
struct AskPlace {
    Slice slice;
};
struct AskLook {
    Slice slice;
};
struct OpenReader {
    std::uint64_t reader = 0;  // a number that the worker has chosen
    Slice slice;
    ReadAs as;
};
struct ReadOn {  // the next records of a reader
    std::uint64_t reader = 0;
};
struct MoveReader {
    std::uint64_t reader = 0;
    sources::RecordSpan place;
};
struct CloseReader {  // answer: empty
    std::uint64_t reader = 0;
};
using Request =
    std::variant<AskPass, AskPlace, AskLook, AskWhereabouts, OpenReader, ReadOn, MoveReader, CloseReader>;

std::string encode(const Request& request);
Result<Request> decode_request(std::string_view bytes);  // error bad_input: garbage

// ---- answers: an error, or one of these ----

struct FoundFile {
    Whereabouts whereabouts;
    // Of the file as it is, whether it was counted or not: a worker that finds the same reads it itself.
    std::optional<sources::SourceStamp> stamp;
    std::uint32_t sample = 0;  // sample_of() the file
};
// A checksum of some bytes at the beginning, in the middle and at the end: files that were packed or copied
// may have equal times.
std::uint32_t sample_of(const sources::SourceFile& file);
struct OpenedReader {
    std::string key_prefix;
    std::string row_type;
};
struct SomeRecords {
    std::uint64_t first = 0;         // number of the first
    std::uint64_t size = 0;          // so many; 0: the end
    std::uint64_t record_bytes = 0;  // of each, if `lengths` is empty
    std::vector<std::uint64_t> lengths{};
    std::string bytes;  // without what is between them
};

struct Done {};

std::string answer_of(const Error& error);
std::string answer_of(Done);
std::string answer_of(std::string_view pass);
std::string answer_of(const sources::RecordSpan& place);
std::string answer_of(WorkIs is);
std::string answer_of(const FoundFile& found);
std::string answer_of(const OpenedReader& opened);
std::string answer_of(const sources::RecordBlock& block);

// The error of the answer; bad_input also: it is garbage.
Result<std::string> pass_of(std::string_view answer);
Result<sources::RecordSpan> place_in(std::string_view answer);
Result<WorkIs> look_in(std::string_view answer);
Result<FoundFile> found_of(std::string_view answer);
Result<OpenedReader> opened_of(std::string_view answer);
Result<SomeRecords> records_of(std::string_view answer);
Status status_of(std::string_view answer);

}  // namespace wq::slices::queue
