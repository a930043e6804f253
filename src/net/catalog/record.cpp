#include "net/catalog/record.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace wq::net::catalog {

namespace {

constexpr char compressed = 0x1a;  // Control-Z
constexpr std::size_t most_uuid = 128;

Error no_record(std::string why) {
    return {ExitCode::bad_input, "no record of a catalog: " + std::move(why)};
}

Result<std::string> inflated(std::string_view bytes) {
    std::string text(std::min(bytes.size() * 4 + 64, most_record_bytes + 1), '\0');
    z_stream stream{};
    if (::inflateInit(&stream) != Z_OK) return no_record("zlib has no memory");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    int code = Z_OK;
    std::size_t done = 0;
    for (;;) {
        stream.next_out = reinterpret_cast<Bytef*>(text.data() + done);
        stream.avail_out = static_cast<uInt>(text.size() - done);
        code = ::inflate(&stream, Z_NO_FLUSH);
        done = text.size() - stream.avail_out;
        if (code != Z_OK || stream.avail_out > 0 || done > most_record_bytes) break;
        text.resize(std::min(text.size() * 2, most_record_bytes + 1));
    }
    ::inflateEnd(&stream);
    if (done > most_record_bytes) return no_record("more than 1 MiB");
    if (code != Z_STREAM_END) return no_record("its zlib stream is damaged");
    text.resize(done);
    return text;
}

// DEL, or one of U+0080 to U+009F, which some terminals obey: how many bytes it has.
std::size_t control_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t n) { return static_cast<unsigned char>(text[n]); };
    if (byte(at) == 0x7f) return 1;
    return byte(at) == 0xc2 && at + 1 < text.size() && byte(at + 1) >= 0x80 && byte(at + 1) < 0xa0 ? 2 : 0;
}

// JSON with these as escapes.
std::string with_escapes(std::string text) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (std::size_t at = text.find_first_of("\x7f\xc2"); at < text.size();
         at = text.find_first_of("\x7f\xc2", at + 1)) {
        const std::size_t size = control_at(text, at);
        if (size == 0) continue;
        const auto code = static_cast<unsigned char>(text[at + size - 1]);
        text.replace(at, size, std::string("\\u00") + digits[code >> 4] + digits[code & 15]);
    }
    return text;
}

Result<FlatRecord> checked(FlatRecord record) {
    if (record.size() > most_members) return no_record("more than 4,096 members");
    return record;
}

Result<FlatRecord> read_object(std::string_view text) {
    if (auto members = members_of_usual(text)) {
        members->shrink_to_fit();
        return checked({std::string(text), std::move(*members)});
    }
    if (is_too_deep(text)) return no_record("more than 100 levels");
    const Json record = Json::parse(text);
    if (!record.is_object()) return no_record("its JSON is damaged, or no object");
    return checked(FlatRecord(text_of(record)));
}

Json value_of_line(std::string_view text) {
    if (const auto number = number_in<std::int64_t>(text)) return *number;
    if (const auto number = number_in<double>(text)) return *number;
    return std::string(text);
}

// Of programs before 2013: "key value" in each line, an empty line at the end.
Result<FlatRecord> read_lines(std::string_view text) {
    Json record = Json::object();
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        if (line.empty()) break;
        const std::size_t blank = line.find(' ');
        if (blank == 0 || blank == std::string_view::npos) return no_record("a line is not 'key value'");
        record[std::string(line.substr(0, blank))] = value_of_line(line.substr(blank + 1));
    }
    if (record.size() == 0) return no_record("it is empty");
    return checked(FlatRecord(text_of(record)));
}

}  // namespace

bool is_too_deep(std::string_view text) {
    int level = 0;
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted && c == '\\') ++at;
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if ((c == '{' || c == '[') && ++level > most_levels) return true;
        if (c == '}' || c == ']') --level;
    }
    return false;
}

std::string text_of(const Json& value, int indent) {
    return with_escapes(value.dump(indent));
}

std::string text_in(const Json& record, const char* key) {
    const Json* const found = record.find(key);
    return found != nullptr && found->is_string() ? found->text() : std::string();
}

std::int64_t integer_in(const Json& record, const char* key) {
    const Json* const found = record.find(key);
    if (found == nullptr) return 0;
    if (found->is_number_unsigned() && found->integer() < 0) return INT64_MAX;
    return found->is_number_integer() ? found->integer() : 0;
}

std::string without_controls(std::string_view text) {
    std::string clean;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::size_t size = control_at(text, at);
        at += size > 0 ? size - 1 : 0;
        clean += size > 0 || static_cast<unsigned char>(text[at]) < 0x20 ? ' ' : text[at];
    }
    return clean;
}

Result<FlatRecord> read_update(std::string_view bytes) {
    if (bytes.size() > most_record_bytes) return no_record("more than 1 MiB");
    if (bytes.starts_with(compressed)) {
        auto text = inflated(bytes.substr(1));
        if (!text) return text.error();
        if (text->starts_with(compressed)) return no_record("it is compressed twice");
        return read_update(*text);
    }
    while (bytes.ends_with('\0') || bytes.ends_with('\n')) bytes.remove_suffix(1);
    return bytes.starts_with('{') ? read_object(bytes) : read_lines(bytes);
}

std::string packet_of(const Json& record, std::size_t limit) {
    std::string text = text_of(record);
    if (text.size() < limit) return text;
    std::string packet(1 + ::compressBound(text.size()), compressed);
    uLongf size = packet.size() - 1;
    if (::compress(reinterpret_cast<Bytef*>(packet.data() + 1), &size,
                   reinterpret_cast<const Bytef*>(text.data()), text.size()) != Z_OK)
        return text;
    packet.resize(1 + size);
    return packet;
}

std::string key_of(const FlatRecord& record, const std::string& address, const std::string& own_name) {
    std::string key = address + ":" + std::to_string(record.integer_of("port")) + ":" + own_name;
    if (const std::string uuid = record.text_of("uuid"); !uuid.empty())
        key += ":" + uuid.substr(0, most_uuid);
    return key;
}

Duration lifetime_of(const FlatRecord& record, Duration longest) {
    const std::int64_t own = record.integer_of("lifetime");
    if (own <= 0 || own >= std::chrono::duration_cast<std::chrono::seconds>(longest).count()) return longest;
    return std::chrono::seconds(own);
}

}  // namespace wq::net::catalog
