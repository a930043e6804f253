// Memories for the large arguments of a queue's calls. To touch new memory takes several times as long as to
// copy into it, so the last memories are used again once their tasks have ended.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/memory_file.h"

namespace wq::bindings::python {

class CallMemories {
  public:
    using Shared = std::shared_ptr<const MemoryFile>;

    // With Python's lock, which it releases meanwhile. Null: there is no memory or no descriptor to spare.
    Shared with(const std::vector<std::string_view>& parts);
    void clear() { last_.clear(); }

  private:
    Shared keep(std::shared_ptr<MemoryFile> memory);

    std::vector<std::shared_ptr<MemoryFile>> last_;
};

}  // namespace wq::bindings::python
