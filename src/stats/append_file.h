// A file that only grows, and only by whole records. A write that does not fit leaves nothing behind: the
// file is cut back to its last border, so that the same bytes can be tried again when there is space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace wq::stats {

// A file descriptor that closes itself.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_ = -1;
};

class AppendFile {
  public:
    AppendFile() = default;
    // Creates the file if it is missing. What stands after byte `keep` is cut off; `keep` beyond the end is
    // the end. Error not_allowed: also where it is no regular file.
    static Result<AppendFile> open(const std::string& path, std::uint64_t keep = UINT64_MAX);

    // All of `bytes` or nothing. Error interrupted: the line says which file and why; try again later.
    Status append(std::string_view bytes);
    // To the disk itself, against the loss of the machine.
    Status sync();
    // Takes the place of `path`; `synced`: whole on the disk first, so that a machine that loses power finds
    // the old file or the new one.
    Status rename(const std::string& path, bool synced = true);
    // Cuts the file to its first `size` bytes.
    Status cut(std::uint64_t size);

    std::uint64_t size() const { return size_; }
    const std::string& path() const { return path_; }
    bool is_open() const { return static_cast<bool>(fd_); }

  private:
    std::string path_;
    Descriptor fd_;
    std::uint64_t size_ = 0;
};

// "disk full: PATH: No space left on device", "cannot write PATH: Permission denied".
Error write_error(const std::string& path, int error_number);

// Pipes would make a reader or writer wait for ever, devices have no end: files are opened without waiting
// and refused with this where they are no files.
Error not_regular(const std::string& path, ExitCode code);

// The whole of a small file, or nothing: written beside it, then renamed over it. `synced`: also to the disk
// itself, which may take a while; else a machine that loses power may leave an empty file.
Status write_atomically(const std::string& path, std::string_view bytes, bool synced = true);
// What was made or renamed in it is there after a loss of power.
Status sync_directory(const std::string& path);
Result<std::string> read_whole(const std::string& path);

}  // namespace wq::stats
