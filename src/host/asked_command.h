// A command of the system that is asked something, and not waited for longer than its answer is worth.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"

namespace wq::host {

class AskedCommand {
  public:
    AskedCommand() = default;
    // Starts it, by PATH; what it says on stderr is thrown away.
    explicit AskedCommand(const std::vector<std::string>& command);
    AskedCommand(AskedCommand&& other) noexcept;
    AskedCommand& operator=(AskedCommand&& other) noexcept;
    ~AskedCommand() { end(); }

    // All that it wrote, if it ended within `limit`; it is killed else, and where it writes more than a MiB.
    std::optional<std::string> answer(Duration limit);

  private:
    void end();

    pid_t child_ = -1;
    Descriptor out_;
};

}  // namespace wq::host
