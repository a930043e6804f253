// A file's bytes, read without copying them: journals and output logs may hold gigabytes.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace wq::stats {

class MappedFile {
  public:
    // Error bad_input: cannot be read, or is no regular file.
    static Result<MappedFile> open(const std::string& path);
    MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    MappedFile& operator=(MappedFile&&) = delete;
    ~MappedFile();
    std::string_view bytes() const { return bytes_; }

  private:
    explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
    std::string_view bytes_;
};

}  // namespace wq::stats
