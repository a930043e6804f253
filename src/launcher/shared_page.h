// Memory that rank and launcher share: says what a launcher that was killed had begun, and where its
// temporary folder is.
#pragma once

#include <array>

#include "launcher/begun_orders.h"

namespace wq::launcher {

struct SharedPage {
    BegunOrders begun;
    std::array<char, 3072> scratch{};  // path of the launcher's folder, written before it is forked
};

class SharedMemory {
  public:
    // Of a file that has the room, for who is no child of ours by fork() alone; -1: of none. Each of its
    // owners begins it anew, so all do before it is used. Throws std::bad_alloc.
    explicit SharedMemory(int file = -1);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    SharedPage& page() const { return *static_cast<SharedPage*>(page_); }

  private:
    void* page_;
};

}  // namespace wq::launcher
