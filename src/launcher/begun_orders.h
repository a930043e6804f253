// Which orders a launcher has begun, in memory that outlives it: a task may kill it between any two stores,
// and no order that has begun may then be taken for one that has not.
//
// Orders come in the sequence of their serials and begin nearly in it: the greatest that has begun, and those
// below it that were passed over and wait.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wq::launcher {

// As many as the manager lets wait of one kind.
inline constexpr std::size_t most_passed_over = 256;

class BegunOrders {
  public:
    // Before it can do anything. `ahead`: those that wait in front of it, all that it passes over and no more
    // than most_passed_over.
    void begin(std::uint64_t serial, std::span<const std::uint64_t> ahead);
    bool has(std::uint64_t serial) const;

  private:
    void pass_over(std::uint64_t serial, std::span<const std::uint64_t> ahead);
    bool put(std::uint64_t serial);

    std::atomic<std::uint64_t> last_{0};
    // 0: free. One that was given back stays until its place is needed: nobody knows when that is heard.
    std::array<std::atomic<std::uint64_t>, most_passed_over> passed_over_{};
};

}  // namespace wq::launcher
