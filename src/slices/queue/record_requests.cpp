#include "slices/queue/record_requests.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/units.h"

namespace wq::slices::queue {

namespace {

void write(ByteWriter& out, const Slice& slice) {
    out.blob(slice.work);
    out.boolean(slice.start.has_value());
    out.u64(slice.start.value_or(0));
    out.u64(slice.end.value_or(0));
}
void read(ByteReader& in, Slice& slice) {
    slice.work = in.blob();
    const bool cut = in.boolean();
    const std::uint64_t start = in.u64();
    const std::uint64_t end = in.u64();
    if (start > end) in.fail();
    if (cut) slice.start = start, slice.end = end;
}

void write(ByteWriter& out, const ReadAs& as) {
    out.u8(static_cast<std::uint8_t>(as.kind));
    out.u64(as.record_bytes);
}
void read(ByteReader& in, ReadAs& as) {
    const std::uint8_t kind = in.u8();
    if (kind > static_cast<std::uint8_t>(sources::Kind::lines)) in.fail();
    as.kind = static_cast<sources::Kind>(kind);
    as.record_bytes = in.u64();
}

void write(ByteWriter& out, const sources::Place& place) {
    out.u64(place.records.first);
    out.u64(place.records.end);
    out.u64(place.from.line);
    out.u64(place.from.offset);
}
void read(ByteReader& in, sources::Place& place) {
    place.records.first = in.u64();
    place.records.end = in.u64();
    place.from.line = in.u64();
    place.from.offset = in.u64();
    if (place.records.first > place.records.end || place.from.line > place.records.first) in.fail();
}

void write(ByteWriter& out, const std::optional<sources::SourceStamp>& stamp) {
    out.boolean(stamp.has_value());
    const sources::SourceStamp some = stamp.value_or(sources::SourceStamp{});
    out.u64(some.bytes);
    out.i64(some.modified_ns);
    out.u64(some.records);
    out.boolean(some.growing);
}
void read(ByteReader& in, std::optional<sources::SourceStamp>& stamp) {
    const bool there = in.boolean();
    sources::SourceStamp some;
    some.bytes = in.u64();
    some.modified_ns = in.i64();
    some.records = in.u64();
    some.growing = in.boolean();
    if (there) stamp = some;
}

struct RequestWriter {
    ByteWriter& out;
    void operator()(const AskPass&) const {}
    void operator()(const AskPlace& ask) const { write(out, ask.slice); }
    void operator()(const AskLook& ask) const { write(out, ask.slice); }
    void operator()(const AskWhereabouts& ask) const {
        write(out, ask.slice);
        write(out, ask.as);
    }
    void operator()(const OpenReader& open) const {
        out.u64(open.reader);
        write(out, open.slice);
        write(out, open.as);
    }
    void operator()(const ReadOn& next) const { out.u64(next.reader); }
    void operator()(const MoveReader& move) const {
        out.u64(move.reader);
        write(out, move.place);
    }
    void operator()(const CloseReader& close) const { out.u64(close.reader); }
};

struct RequestReader {
    ByteReader& in;
    void operator()(AskPass&) const {}
    void operator()(AskPlace& ask) const { read(in, ask.slice); }
    void operator()(AskLook& ask) const { read(in, ask.slice); }
    void operator()(AskWhereabouts& ask) const {
        read(in, ask.slice);
        read(in, ask.as);
    }
    void operator()(OpenReader& open) const {
        open.reader = in.u64();
        read(in, open.slice);
        read(in, open.as);
    }
    void operator()(ReadOn& next) const { next.reader = in.u64(); }
    void operator()(MoveReader& move) const {
        move.reader = in.u64();
        read(in, move.place);
    }
    void operator()(CloseReader& close) const { close.reader = in.u64(); }
};

template <std::size_t kind = 0>
Request request_of_kind(std::size_t wanted) {
    if constexpr (kind < std::variant_size_v<Request>)
        return wanted == kind ? Request(std::in_place_index<kind>) : request_of_kind<kind + 1>(wanted);
    else
        return {};
}

// An answer begins with 0, or with an error.
ByteWriter good_answer() {
    ByteWriter out;
    out.u8(0);
    return out;
}

Error garbage() {
    return {ExitCode::bad_input, "the answer of the process that has the works cannot be read"};
}

// Reads an answer; `fields` reads what follows.
template <class Value, class Fields>
Result<Value> read_answer(std::string_view answer, Fields&& fields) {
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
    fields(in, value);
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
    out.u8(static_cast<std::uint8_t>(request.index()));
    std::visit(RequestWriter{out}, request);
    return out.take();
}

Result<Request> decode_request(std::string_view bytes) {
    ByteReader in(bytes);
    const std::size_t kind = in.u8();
    if (kind >= std::variant_size_v<Request>) in.fail();
    Request request = request_of_kind(kind);
    if (in.ok()) std::visit(RequestReader{in}, request);
    if (!in.at_end()) return Error{ExitCode::bad_input, "the request cannot be read"};
    return request;
}

std::string answer_of(const Error& error) {
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(error.code));
    out.blob(error.message);
    return out.take();
}

std::string answer_of(Done) {
    return good_answer().take();
}

std::string answer_of(std::string_view pass) {
    ByteWriter out = good_answer();
    out.blob(pass);
    return out.take();
}

std::string answer_of(const sources::Place& place) {
    ByteWriter out = good_answer();
    write(out, place);
    return out.take();
}

std::string answer_of(const FoundFile& found) {
    ByteWriter out = good_answer();
    write(out, found.whereabouts.planned);
    write(out, found.whereabouts.place);
    write(out, found.stamp);
    out.u64(found.sample);
    return out.take();
}

std::string answer_of(WorkIs is) {
    ByteWriter out = good_answer();
    out.u8(static_cast<std::uint8_t>(is));
    return out.take();
}

std::string answer_of(const OpenedReader& opened) {
    ByteWriter out = good_answer();
    out.blob(opened.key_prefix);
    out.blob(opened.row_type);
    return out.take();
}

std::string answer_of(const sources::RecordBlock& block) {
    ByteWriter out = good_answer();
    out.u64(block.first);
    out.u64(block.size);
    out.u64(block.record_bytes);
    out.u64(block.starts.empty() ? 0 : block.size);
    if (block.starts.empty()) {
        out.blob(block.bytes);
        return out.take();
    }
    std::string values;
    for (std::size_t n = 0; n < block.size; ++n) {
        out.u64(block.value(n).size());
        values += block.value(n);
    }
    out.blob(values);
    return out.take();
}

Result<std::string> pass_of(std::string_view answer) {
    return read_answer<std::string>(answer, [](ByteReader& in, std::string& pass) { pass = in.blob(); });
}

Result<sources::Place> place_in(std::string_view answer) {
    return read_answer<sources::Place>(answer,
                                       [](ByteReader& in, sources::Place& place) { read(in, place); });
}

Result<FoundFile> found_of(std::string_view answer) {
    return read_answer<FoundFile>(answer, [](ByteReader& in, FoundFile& found) {
        read(in, found.whereabouts.planned);
        read(in, found.whereabouts.place);
        read(in, found.stamp);
        found.sample = in.u32();
    });
}

Result<WorkIs> look_in(std::string_view answer) {
    return read_answer<WorkIs>(answer, [](ByteReader& in, WorkIs& is) {
        const std::uint8_t byte = in.u8();
        if (byte > static_cast<std::uint8_t>(WorkIs::other)) in.fail();
        is = static_cast<WorkIs>(byte);
    });
}

Result<OpenedReader> opened_of(std::string_view answer) {
    return read_answer<OpenedReader>(answer, [](ByteReader& in, OpenedReader& opened) {
        opened.key_prefix = in.blob();
        opened.row_type = in.blob();
    });
}

Result<SomeRecords> records_of(std::string_view answer) {
    return read_answer<SomeRecords>(answer, [](ByteReader& in, SomeRecords& some) {
        some.first = in.u64();
        some.size = in.u64();
        some.record_bytes = in.u64();
        std::uint64_t bytes = 0;
        for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
            some.lengths.push_back(in.u64());
            if (__builtin_add_overflow(bytes, some.lengths.back(), &bytes)) in.fail();
        }
        const bool fixed = some.lengths.empty();
        if (fixed && __builtin_mul_overflow(some.size, some.record_bytes, &bytes)) in.fail();
        some.bytes = in.blob();
        if (some.bytes.size() != bytes || (!fixed && some.lengths.size() != some.size)) in.fail();
    });
}

Status status_of(std::string_view answer) {
    const auto read = read_answer<char>(answer, [](ByteReader&, char&) {});
    if (!read) return read.error();
    return success();
}

}  // namespace wq::slices::queue
