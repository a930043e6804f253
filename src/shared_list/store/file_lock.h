// The lock of a list, which all its workers take for each exchange.
#pragma once

#include <functional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace wq::shared_list::store {

using Say = std::function<void(const std::string&)>;

class FileLock {
  public:
    // Waits for it; says so if that takes long, and once it has it. `meanwhile` is called now and then.
    static Result<FileLock> take(const std::string& path, const Say& say,
                                 const std::function<void()>& meanwhile = {});
    void release() { file_.reset(); }

  private:
    explicit FileLock(Descriptor file) : file_(std::move(file)) {}
    Descriptor file_;  // closing it unlocks
};

// What a worker says that waits for the lock at `path`, and that has it at last.
std::string waits_for_lock(const std::string& path);
std::string has_lock(const std::string& path);

}  // namespace wq::shared_list::store
