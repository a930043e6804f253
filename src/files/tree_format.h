// A file, or a folder with all in it, as a stream of bytes: how both travel, and what their content keys are
// the hash of. Equal trees have equal streams, whatever they are called and whenever they were made.
//
// Of permissions, those to read and to execute travel: who receives a tree decides about writing.
//
// A stream is a sequence of entries in the order of a walk, names ascending by their bytes; each is
//     kind (1 byte)   length of its fields (4 bytes, little-endian)   fields (base/bytes.h)
// and a file's is followed by its bytes. The root has no name. A folder's entry enters it, `leave` leaves it.
// Names are single components: no entry can name a place outside the root.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wq::files {

enum class EntryKind : std::uint8_t { file = 1, folder = 2, link = 3, leave = 4, end = 5 };

struct Entry {
    EntryKind kind = EntryKind::end;
    std::string name;
    std::uint32_t mode = 0;  // of files and folders: who may read and execute (0555)
    std::uint64_t size = 0;  // of a file: bytes that follow
    std::string target;      // of a link
    bool operator==(const Entry&) const = default;
};

inline constexpr std::size_t entry_head_bytes = 5;
inline constexpr std::size_t most_entry_bytes = 16 << 10;  // of the fields
inline constexpr std::size_t most_depth = 256;             // folders in folders: each is an open descriptor

std::string encode(const Entry& entry);

// Of one entry, at the front of `bytes`. `used` 0: more bytes are needed. Nothing: it is malformed.
struct Decoded {
    std::size_t used = 0;
    Entry entry;
};
std::optional<Decoded> decode(std::string_view bytes);

// A name of one component that can be made: not empty, "." or "..", without '/' and NUL.
bool is_component(std::string_view name);

// Whether a link to `target`, in a folder `depth` folders below the root, stays within the root however it is
// followed: relative, with ".." at its beginning only (behind a name, ".." is of where a link leads), and no
// more of them than `depth`.
bool stays_inside(std::string_view target, std::size_t depth);

// Before and behind the bytes of a file of this size that all may read.
std::string head_of_stream(std::uint64_t size);
std::string tail_of_stream();
std::string empty_folder_stream();

}  // namespace wq::files
