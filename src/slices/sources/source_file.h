// A file of data, opened for reading, and what a plan remembers of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace wq::slices::sources {

// How much to read at once: it stays in the processor's cache until it is looked at.
inline constexpr std::uint64_t source_block_bytes = std::uint64_t{256} << 10;

// A plan keeps it, so that whoever opens the file later notices that it is another one.
struct SourceStamp {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;  // since 1970
    std::uint64_t records = 0;
    // A program is adding records (HDF5, SWMR): size and time change, but the records counted stay.
    bool growing = false;
    bool operator==(const SourceStamp&) const = default;
};
template <class V>
void fields(SourceStamp& stamp, V& visit) {
    visit(stamp.bytes, stamp.modified_ns, stamp.records, stamp.growing);
}

// Error bad_input: the file `name` changed since `planned`.
Status check_unchanged(const std::string& name, const SourceStamp& planned, const SourceStamp& now);

// Reads with pread, not through a mapping: if the file is truncated meanwhile, a mapping ends the program by
// SIGBUS.
class SourceFile {
  public:
    // Error bad_input: it is missing, unreadable, or not a regular file (a pipe would block its reader).
    // `planned`: error also if it is another file.
    static Result<SourceFile> open(const std::string& path,
                                   const std::optional<SourceStamp>& planned = std::nullopt);

    const std::string& path() const { return path_; }
    std::uint64_t bytes() const { return stamp_.bytes; }  // when it was opened
    SourceStamp stamp(std::uint64_t records) const;
    // Fills `to` with the bytes from `offset` on. Error bad_input: the file ends before.
    Status read(std::uint64_t offset, std::span<char> to) const;
    // "cannot read PATH: WHY".
    Error unreadable(const std::string& why) const;

  private:
    SourceFile(std::string path, Descriptor descriptor, SourceStamp stamp)
        : path_(std::move(path)), descriptor_(std::move(descriptor)), stamp_(stamp) {}

    std::string path_;
    Descriptor descriptor_;
    SourceStamp stamp_;
};

}  // namespace wq::slices::sources
