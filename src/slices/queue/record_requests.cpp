#include "slices/queue/record_requests.h"

#include <algorithm>
#include <utility>

#include "base/fields.h"
#include "base/units.h"

namespace wq {

template <class V>
void fields(Slice& slice, V& visit) {
    bool cut = slice.start.has_value();
    std::uint64_t start = slice.start.value_or(0);
    std::uint64_t end = slice.end.value_or(0);
    visit(slice.work, cut, start, end);
    visit.require(start <= end);
    if (V::reads && cut) slice.start = start, slice.end = end;
}

}  // namespace wq

namespace wq::slices::queue {

template <class V>
void fields(AskPlace& ask, V& visit) {
    visit(ask.slice);
}
template <class V>
void fields(AskLook& ask, V& visit) {
    visit(ask.slice);
}
template <class V>
void fields(AskWhereabouts& ask, V& visit) {
    visit(ask.slice, ask.as);
}
template <class V>
void fields(OpenReader& open, V& visit) {
    visit(open.reader, open.slice, open.as);
}
template <class V>
void fields(ReadOn& next, V& visit) {
    visit(next.reader);
}
template <class V>
void fields(MoveReader& move, V& visit) {
    visit(move.reader, move.place);
}
template <class V>
void fields(CloseReader& close, V& visit) {
    visit(close.reader);
}

template <class V>
void optional_stamp(std::optional<sources::SourceStamp>& stamp, V& visit) {
    bool there = stamp.has_value();
    sources::SourceStamp some = stamp.value_or(sources::SourceStamp{});
    visit(there, some);
    if (V::reads && there) stamp = some;
}
template <class V>
void fields(FoundFile& found, V& visit) {
    optional_stamp(found.whereabouts.planned, visit);
    visit(found.whereabouts.place);
    optional_stamp(found.stamp, visit);
    visit(found.sample);
}
template <class V>
void fields(OpenedReader& opened, V& visit) {
    visit(opened.key_prefix, opened.row_type);
}
template <class V>
void fields(SomeRecords& some, V& visit) {
    visit(some.first, some.size, some.record_bytes, some.lengths, some.bytes);
    std::uint64_t bytes = 0;
    bool fits = some.lengths.empty() || some.lengths.size() == some.size;
    if (some.lengths.empty()) fits = !__builtin_mul_overflow(some.size, some.record_bytes, &bytes);
    for (const std::uint64_t length : some.lengths)
        if (__builtin_add_overflow(bytes, length, &bytes)) fits = false;
    visit.require(fits && some.bytes.size() == bytes);
}

namespace {

// An answer begins with 0, or with an error.
template <class... F>
std::string good_answer(const F&... field) {
    return bytes_of(std::uint8_t{0}, field...);
}

Error garbage() {
    return {ExitCode::bad_input, "the answer of the process that has the works cannot be read"};
}

template <class Value>
Result<Value> read_answer(std::string_view answer) {
    ByteReader in(answer);
    if (const std::uint8_t code = in.u8(); code != 0) {
        const std::string why(in.blob());
        const bool known = code == to_int(ExitCode::usage) || code == to_int(ExitCode::bad_input) ||
                           code == to_int(ExitCode::not_allowed);
        if (!in.at_end()) return garbage();
        return Error{known ? static_cast<ExitCode>(code) : ExitCode::unreachable,
                     line_for_message(why, 1000)};
    }
    Value value{};
    get_fields(in, value);
    if (!in.at_end()) return garbage();
    return value;
}

}  // namespace

std::uint32_t sample_of(const sources::SourceFile& file) {
    constexpr std::uint64_t some = 4096;
    const std::uint64_t bytes = file.bytes();
    std::uint32_t sample = 0;
    std::string block;
    for (const std::uint64_t from : {std::uint64_t{0}, bytes / 2, bytes > some ? bytes - some : 0}) {
        block.resize(std::min(some, bytes - from));
        if (!file.read(from, block)) return 0;
        sample = crc32c(block, sample);
    }
    return sample;
}

std::string encode(const Request& request) {
    ByteWriter out;
    put_message(out, request);
    return out.take();
}

Result<Request> decode_request(std::string_view bytes) {
    if (auto request = message_in<Request>(bytes)) return std::move(*request);
    return Error{ExitCode::bad_input, "the request cannot be read"};
}

std::string answer_of(const Error& error) {
    return bytes_of(static_cast<std::uint8_t>(error.code), error.message);
}
std::string answer_of(Done) {
    return good_answer();
}
std::string answer_of(std::string_view pass) {
    return good_answer(pass);
}
std::string answer_of(const sources::RecordSpan& place) {
    return good_answer(place);
}
std::string answer_of(const FoundFile& found) {
    return good_answer(found);
}
std::string answer_of(WorkIs is) {
    return good_answer(is);
}
std::string answer_of(const OpenedReader& opened) {
    return good_answer(opened);
}

std::string answer_of(const sources::RecordBlock& block) {
    std::vector<std::uint64_t> lengths;
    if (block.starts.empty())
        return good_answer(block.first, block.size, block.record_bytes, lengths, block.bytes);
    std::string values;
    for (std::size_t n = 0; n < block.size; ++n) {
        lengths.push_back(block.value(n).size());
        values += block.value(n);
    }
    return good_answer(block.first, block.size, block.record_bytes, lengths, values);
}

Result<std::string> pass_of(std::string_view answer) {
    return read_answer<std::string>(answer);
}
Result<sources::RecordSpan> place_in(std::string_view answer) {
    return read_answer<sources::RecordSpan>(answer);
}
Result<FoundFile> found_of(std::string_view answer) {
    return read_answer<FoundFile>(answer);
}
Result<WorkIs> look_in(std::string_view answer) {
    return read_answer<WorkIs>(answer);
}
Result<OpenedReader> opened_of(std::string_view answer) {
    return read_answer<OpenedReader>(answer);
}
Result<SomeRecords> records_of(std::string_view answer) {
    return read_answer<SomeRecords>(answer);
}

Status status_of(std::string_view answer) {
    const auto done = read_answer<Done>(answer);
    if (!done) return done.error();
    return success();
}

}  // namespace wq::slices::queue
