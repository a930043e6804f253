// Memory that the rank and the launcher share. After the launcher was killed, it shows which orders had
// begun, and where the launcher's temporary folder is.
#pragma once

#include <array>

#include "node/launcher/begun_orders.h"

namespace wq::node::launcher {

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
