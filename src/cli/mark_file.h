// A file of a run that shows who sees its folder: whoever finds at path() what mark() is.
#pragma once

#include <string>

#include "base/result.h"

namespace wq::cli {

class MarkFile {
  public:
    // RUN_DIR/mark. Error: it cannot be written.
    static Result<MarkFile> make(const std::string& run_directory);
    ~MarkFile();  // it is removed
    MarkFile(MarkFile&& from) noexcept;
    MarkFile& operator=(MarkFile&&) = delete;

    const std::string& path() const { return path_; }  // absolute
    const std::string& mark() const { return mark_; }

  private:
    MarkFile(std::string path, std::string mark);
    std::string path_;
    std::string mark_;
};

}  // namespace wq::cli
