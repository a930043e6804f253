#include "files/trees/tree_format.h"

#include "base/bytes.h"

namespace wq::files::trees {

namespace {

std::string fields_of(const Entry& entry) {
    ByteWriter out;
    out.blob(entry.name);
    if (entry.kind == EntryKind::file || entry.kind == EntryKind::folder) out.u64(entry.mode);
    if (entry.kind == EntryKind::file) out.u64(entry.size);
    if (entry.kind == EntryKind::link) out.blob(entry.target);
    return out.take();
}

std::optional<Entry> read_fields(EntryKind kind, std::string_view fields) {
    ByteReader in(fields);
    Entry entry{kind, std::string(in.blob()), 0, 0, {}};
    if (kind == EntryKind::file || kind == EntryKind::folder) entry.mode = in.u32();
    if (kind == EntryKind::file) entry.size = in.u64();
    if (kind == EntryKind::link) entry.target = in.blob();
    if (!in.at_end() || (entry.mode & ~0555u) != 0) return std::nullopt;
    return entry;
}

std::uint32_t little_endian(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
    return value;
}

}  // namespace

std::string encode(const Entry& entry) {
    const std::string fields = fields_of(entry);
    std::string bytes(1, static_cast<char>(entry.kind));
    for (unsigned shift = 0; shift < 32; shift += 8)
        bytes += static_cast<char>(static_cast<unsigned char>(fields.size() >> shift));
    return bytes + fields;
}

std::optional<Decoded> decode(std::string_view bytes) {
    if (bytes.size() < entry_head_bytes) return Decoded{};
    const auto kind = static_cast<EntryKind>(bytes[0]);
    if (kind < EntryKind::file || kind > EntryKind::end) return std::nullopt;
    const std::size_t length = little_endian(bytes.substr(1, 4));
    if (length > most_entry_bytes) return std::nullopt;
    if (bytes.size() < entry_head_bytes + length) return Decoded{};
    auto entry = read_fields(kind, bytes.substr(entry_head_bytes, length));
    if (!entry) return std::nullopt;
    return Decoded{entry_head_bytes + length, std::move(*entry)};
}

bool is_component(std::string_view name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
           name.find('\0') == name.npos;
}

bool stays_inside(std::string_view target, std::size_t depth) {
    if (target.empty() || target.front() == '/' || target.find('\0') != target.npos) return false;
    bool named = false;
    while (!target.empty()) {
        const std::size_t slash = std::min(target.find('/'), target.size());
        const std::string_view part = target.substr(0, slash);
        target.remove_prefix(std::min(slash + 1, target.size()));
        if (part.empty() || part == ".") continue;
        if (part != "..") {
            named = true;
        } else if (named || depth-- == 0) {
            return false;
        }
    }
    return true;
}

std::string head_of_stream(std::uint64_t size) {
    return encode({EntryKind::file, "", 0444, size, ""});
}
std::string tail_of_stream() {
    return encode({EntryKind::end, "", 0, 0, ""});
}
std::string empty_folder_stream() {
    return encode({EntryKind::folder, "", 0555, 0, ""}) + encode({EntryKind::leave, "", 0, 0, ""}) +
           tail_of_stream();
}

}  // namespace wq::files::trees
