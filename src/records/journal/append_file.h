// A file that grows only by whole records. If a write does not fit, the file is truncated to its last
// record boundary, so that the same bytes can be written again when there is space.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace wq::records::journal {

// Whether a file is flushed to disk before it gets its name. That may take a while; without it, a loss of
// power may leave an empty file.
enum class Sync : std::uint8_t { first, never };

class AppendFile {
  public:
    AppendFile() = default;
    // Creates the file if missing. Truncates it to `keep` bytes if it is longer. Error not_allowed: also if
    // it is not a regular file.
    static Result<AppendFile> open(const std::string& path, std::uint64_t keep = UINT64_MAX);
    // Creates the file; nothing, if something has its name already.
    static Result<std::optional<AppendFile>> create(const std::string& path);

    // Writes all of `bytes` or nothing. Error interrupted: names the file and the cause; try again later.
    Status append(std::string_view bytes);
    // Flushes to disk, so that the data survives a loss of power.
    Status sync();
    // Renames this file over `path`. Sync::first: flushed to disk first, so that after a loss of power either
    // the old file or the new one is there.
    Status rename(const std::string& path, Sync when = Sync::first);
    // Error interrupted: the file was removed, so that nobody will read what is written to it.
    Status still_there() const;
    // Truncates the file to `size` bytes.
    Status cut(std::uint64_t size);

    std::uint64_t size() const { return size_; }
    const std::string& path() const { return path_; }
    bool is_open() const { return fd_.valid(); }

  private:
    std::string path_;
    Descriptor fd_;
    std::uint64_t size_ = 0;
};

// "disk full: PATH: No space left on device", "cannot write PATH: Permission denied".
Error write_error(const std::string& path, int error_number);

// Pipes would block a reader or writer forever, and devices have no end: files are opened without blocking
// and refused with this error if they are not regular.
Error not_regular(const std::string& path, ExitCode code);

// Writes a small file completely or not at all: a new file beside it is renamed over it.
Status write_atomically(const std::string& path, std::string_view bytes, Sync sync = Sync::first);
Result<std::string> read_whole(const std::string& path);

// A derived text file of complete lines, collected in memory and written in batches. While the disk is full
// the lines wait; beyond a limit the log is given up, with one message.
class TextLog {
  public:
    static constexpr std::size_t most_waiting = 16u << 20;

    TextLog() = default;  // writes nothing
    // Removes an incomplete last line. Writes `heading` into an empty file. Error usage: the file is not
    // ours, because it begins with something else; it is not changed.
    static Result<TextLog> open(const std::string& path, std::string_view heading);

    // Whether open() would accept the file, and whether it is readable.
    static Status check(const std::string& path, std::string_view heading);

    // Append lines here, then call write().
    std::string& lines() { return waiting_; }
    bool is_open() const { return file_.is_open() && !ended_; }
    // Error interrupted if the lines still wait, or were given up (then once).
    Status write();
    // Writes pending lines, then renames the file over `path`; without flushing to disk, since it can be
    // regenerated. Error: it failed, and this log is given up.
    Status rename(const std::string& path);
    // Gives up what cannot be written. Error: something was given up.
    Status close();

    const std::string& path() const { return file_.path(); }

  private:
    explicit TextLog(AppendFile file) : file_(std::move(file)) {}
    AppendFile file_;
    std::string waiting_;
    bool ended_ = false;
};

// Append numbers and texts without a temporary.
void put_number(std::string& out, std::int64_t value);
void put_number(std::string& out, std::uint64_t value);
// Microseconds as seconds with `digits` (3 or 6) decimals, truncated.
void put_seconds(std::string& out, std::int64_t micros, int digits);
// Replaces each blank and control byte by `replacement`.
void put_word(std::string& out, std::string_view text, char replacement);

// Access to a file's bytes without copying: journals and output logs may have gigabytes.
class MappedFile {
  public:
    // Error bad_input: unreadable, or not a regular file.
    static Result<MappedFile> open(const std::string& path);
    // Of an open file. Whoever writes to the bytes changes their copy in memory only.
    static Result<MappedFile> of(int file);
    MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    MappedFile& operator=(MappedFile&&) = delete;
    ~MappedFile();
    std::string_view bytes() const { return bytes_; }

  private:
    explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
    std::string_view bytes_;
};

}  // namespace wq::records::journal
