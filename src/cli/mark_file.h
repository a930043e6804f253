// A file that shows who sees the folder in which tasks of a list run: whoever finds at path() what mark() is.
#pragma once

#include <string>

#include "base/result.h"

namespace wq::cli {

class MarkFile {
  public:
    // `mark` in the run's directory where that lies below the folder, else a hidden file in the folder
    // itself. Error: it cannot be written.
    static Result<MarkFile> make(const std::string& folder, const std::string& run_directory);
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
