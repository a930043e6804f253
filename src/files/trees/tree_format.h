// Defines the stream of bytes for a file, or a folder with all its contents. Trees are sent as streams, and a
// content key is the hash of a stream. Equal trees have equal streams, whatever their names and times.
//
// A stream has the permissions to read and execute; the receiver decides about writing.
//
// A stream is a sequence of entries in the order of a walk, names ascending by their bytes. Each entry is
//     kind (1 byte)   length of its fields (4 bytes, little-endian)   fields (base/bytes.h)
// and a file's entry is followed by its bytes. The root has no name. A folder's entry enters the folder;
// `leave` leaves it. Names are single components, so no entry can name a place outside the root.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wq::files::trees {

enum class EntryKind : std::uint8_t { file = 1, folder = 2, link = 3, leave = 4, end = 5 };

struct Entry {
    EntryKind kind = EntryKind::end;
    std::string name;
    std::uint32_t mode = 0;  // of files and folders: read and execute bits (0555)
    std::uint64_t size = 0;  // of a file: number of bytes that follow
    std::string target;      // of a link
    bool operator==(const Entry&) const = default;
};

inline constexpr std::size_t entry_head_bytes = 5;
inline constexpr std::size_t most_entry_bytes = 16 << 10;  // of the fields
inline constexpr std::size_t most_depth = 256;             // of nested folders: each is an open descriptor

std::string encode(const Entry& entry);

// Decodes the entry at the start of `bytes`. `used` 0: more bytes are needed. nullopt: it is malformed.
struct Decoded {
    std::size_t used = 0;
    Entry entry;
};
std::optional<Decoded> decode(std::string_view bytes);

// Whether `name` is a valid single component: not empty, not "." or "..", without '/' and NUL.
bool is_component(std::string_view name);

// Whether a link to `target`, in a folder `depth` levels below the root, always stays within the root. It
// must be relative, with at most `depth` "..", at its start only (after a name that is a link, ".." would be
// relative to the link's target).
bool stays_inside(std::string_view target, std::size_t depth);

// The stream before and after the bytes of a file of this size that all may read.
std::string head_of_stream(std::uint64_t size);
std::string tail_of_stream();
std::string empty_folder_stream();

}  // namespace wq::files::trees
