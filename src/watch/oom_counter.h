// How often the kernel's OOM killer struck in our control group, or anywhere where that cannot be read: a
// SIGKILL that came with an increase was its doing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wq::watch {

inline constexpr const char* killed_by_kernel = "killed by the kernel for lack of memory";

class OomCounter {
  public:
    OomCounter();
    explicit OomCounter(std::vector<std::string> files);
    bool grew();  // since the last call
    // We are in another group, which has other files; what grew before and was not asked for is kept.
    void go_over_to(std::vector<std::string> files);

  private:
    std::uint64_t read() const;
    std::vector<std::string> files_;  // each with a line "oom_kill N"
    std::uint64_t last_ = 0;
    bool grew_before_ = false;
};

}  // namespace wq::watch
