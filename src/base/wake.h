// Wakes a thread that waits in poll(): a descriptor that is readable from set() to clear().
#pragma once

#include <sys/eventfd.h>

#include "base/descriptor.h"

namespace wq {

// Any thread may set it. set() costs a system call, so a caller with many events remembers that it is set.
class Wake {
  public:
    Wake() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    // False: no descriptor is left (errno says why); then set() and clear() do nothing and return false.
    bool valid() const { return event_.valid(); }
    int descriptor() const { return event_.get(); }

    bool set() const { return ::eventfd_write(event_.get(), 1) == 0; }
    // Returns whether it was set.
    bool clear() const {
        eventfd_t count = 0;
        return ::eventfd_read(event_.get(), &count) == 0;
    }

  private:
    Descriptor event_;
};

}  // namespace wq
