// Memory that the rank and the launcher share. After the launcher was killed, it shows which orders had
// begun, and where the launcher's temporary folder is.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/model/run_times.h"

namespace wq::node::launcher {

// Records which orders a launcher has begun, in memory that outlives it. A task may kill the launcher between
// any two stores, and even then a begun order must never count as not begun.
//
// Orders arrive in the sequence of their serials and begin almost in that sequence. So the record is the
// greatest serial that has begun, and those below it that were skipped and wait.

inline constexpr std::size_t most_passed_over = engine::model::most_queued;  // of one kind

class BegunOrders {
  public:
    // Called before the order can do anything. `ahead`: the orders that it skips, at most most_passed_over.
    void begin(std::uint64_t serial, std::span<const std::uint64_t> ahead);
    bool has(std::uint64_t serial) const;

  private:
    void pass_over(std::uint64_t serial, std::span<const std::uint64_t> ahead);
    bool insert_serial(std::uint64_t serial);

    std::atomic<std::uint64_t> last_{0};
    // 0: free. The serial of a returned order stays until its place is needed, because the launcher does not
    // know when the rank hears of the return.
    std::array<std::atomic<std::uint64_t>, most_passed_over> passed_over_{};
};

struct SharedPage {
    BegunOrders begun;
    std::array<char, 3072> scratch{};  // path of the launcher's folder, written before it is forked
};

class SharedMemory {
  public:
    // `file`: backs the memory, for a process that is not our child by fork() alone; it must be large enough.
    // -1: no file. Each owner initialises the memory, so all owners must be created before it is used. Throws
    // std::bad_alloc.
    explicit SharedMemory(int file = -1);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    SharedPage& page() const { return *static_cast<SharedPage*>(page_); }

  private:
    void* page_;
};

}  // namespace wq::node::launcher
