// A file that shows which workers see the folder in which tasks of a list run: it holds mark() at path().
#pragma once

#include <string>

#include "base/result.h"

namespace wq::net::contact {

class MarkFile {
  public:
    // Creates `mark` in the run's directory if that is below the folder, else a hidden file in the folder
    // itself. Error: it cannot be written.
    static Result<MarkFile> make(const std::string& folder, const std::string& run_directory);
    ~MarkFile();  // removes it
    MarkFile(MarkFile&& from) noexcept;
    MarkFile& operator=(MarkFile&&) = delete;

    const std::string& path() const { return path_; }  // absolute
    const std::string& mark() const { return mark_; }

  private:
    MarkFile(std::string path, std::string mark);
    std::string path_;
    std::string mark_;
};

}  // namespace wq::net::contact
