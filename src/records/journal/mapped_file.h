// Access to a file's bytes without copying: journals and output logs may have gigabytes.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace wq::records::journal {

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
