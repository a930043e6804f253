// A system command that is queried for information, with a time limit.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"

namespace wq::machine {

class AskedCommand {
  public:
    AskedCommand() = default;
    // Starts it, found by PATH; its stderr is discarded.
    explicit AskedCommand(const std::vector<std::string>& command);
    AskedCommand(AskedCommand&& other) noexcept;
    AskedCommand& operator=(AskedCommand&& other) noexcept;
    ~AskedCommand() { end(); }

    // Its whole output, if it ended within `limit`; otherwise, or if it writes more than a MiB, it is killed.
    std::optional<std::string> answer(Duration limit);

  private:
    void end();

    pid_t child_ = -1;
    Descriptor out_;
};

}  // namespace wq::machine
