#include "records/logs/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/bytes.h"
#include "records/journal/run_status.h"

namespace wq::records::logs {

namespace {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// ByteWriter's varints, doubles and blobs are those of protobuf.
void put_key(ByteWriter& message, unsigned field, WireType type) {
    message.u64(field << 3 | static_cast<unsigned>(type));
}

void put_fixed(ByteWriter& message, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) message.u8(static_cast<std::uint8_t>(value >> 8 * i));
}

void put_bytes(ByteWriter& message, unsigned field, std::string_view value) {
    put_key(message, field, WireType::bytes);
    message.blob(value);
}

// As proto3 does, without a step that is 0.
ByteWriter begin_event(std::int64_t step, WallMicros time) {
    ByteWriter event;
    put_key(event, 1, WireType::fixed64);
    event.f64(static_cast<double>(time) / static_cast<double>(micros_per_second));
    if (step != 0) {
        put_key(event, 2, WireType::varint);
        event.u64(static_cast<std::uint64_t>(step));
    }
    return event;
}

std::string value_of(const Scalar& scalar) {
    ByteWriter value;
    put_bytes(value, 1, scalar.tag);
    put_key(value, 2, WireType::fixed32);
    put_fixed(value, std::bit_cast<std::uint32_t>(static_cast<float>(scalar.value)), 4);
    return value.take();
}

std::string summary_of(std::span<const Scalar> scalars) {
    ByteWriter summary;
    for (const Scalar& scalar : scalars) put_bytes(summary, 1, value_of(scalar));
    return summary.take();
}

std::uint32_t masked_crc(std::string_view data) {
    return std::rotr(crc32c(data), 15) + 0xa282ead8U;
}

std::string record_of(std::string_view data) {
    ByteWriter record;
    put_fixed(record, data.size(), 8);
    put_fixed(record, masked_crc(record.bytes()), 4);
    record.raw(data);
    put_fixed(record, masked_crc(data), 4);
    return record.take();
}

std::string first_record(WallMicros now) {
    ByteWriter event = begin_event(0, now);
    put_bytes(event, 3, "brain.Event:2");
    return record_of(event.bytes());
}

std::string name_before_number(WallMicros now) {
    char seconds[24];
    std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(now / micros_per_second));
    std::string host = journal::host_name();
    std::replace(host.begin(), host.end(), '/', '_');
    return std::string("events.out.tfevents.") + seconds + "." + host + "." + std::to_string(::getpid()) +
           ".";
}

Result<journal::AppendFile> new_file(const std::string& before_number) {
    for (unsigned number = 0;; ++number) {
        auto file = journal::AppendFile::create(before_number + std::to_string(number));
        if (!file) return file.error();
        if (*file) return std::move(**file);
    }
}

}  // namespace

Result<EventFile> EventFile::create(const std::string& folder, WallMicros now) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return journal::write_error(folder, failed.value());
    auto file = new_file((std::filesystem::path(folder) / name_before_number(now)).string());
    if (!file) return file.error();
    EventFile events(std::move(*file));
    events.waiting_ = first_record(now);
    if (auto written = events.flush(); !written) {
        ::unlink(events.path().c_str());
        return written.error();
    }
    return events;
}

EventFile::~EventFile() {
    static_cast<void>(flush());
}

Status EventFile::add(std::int64_t step, WallMicros time, std::span<const Scalar> scalars) {
    if (std::ranges::any_of(scalars, [](const Scalar& scalar) { return scalar.tag.empty(); }))
        return Error{ExitCode::bad_input, "an empty tag for " + path()};
    if (broken_ || scalars.empty()) return success();
    ByteWriter event = begin_event(step, time);
    put_bytes(event, 5, summary_of(scalars));
    waiting_ += record_of(event.bytes());
    return success();
}

Status EventFile::flush() {
    if (waiting_.empty() || !file_.is_open()) return success();  // not open: moved from
    Status done = file_.still_there();
    if (done) done = file_.append(waiting_);
    waiting_.clear();
    broken_ = !done;
    return done;
}

}  // namespace wq::records::logs
