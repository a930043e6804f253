// The folder of a factory: its scripts, logs and list of jobs. One factory at a time uses it.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace wq::factory {

class OwnFolder {
  public:
    // Creates it if it is missing. Errors: not_allowed: it cannot be written, or another factory uses it.
    static Result<OwnFolder> open(const std::string& path);

    const std::string& path() const { return path_; }
    // The factory's name, the same for every factory in this folder; `wanted` replaces it unless it is empty.
    // Error: the file cannot be written.
    Result<std::string> name(const std::string& wanted) const;

  private:
    explicit OwnFolder(std::string path) : path_(std::move(path)) {}

    std::string path_;
    Descriptor lock_;
};

}  // namespace wq::factory
