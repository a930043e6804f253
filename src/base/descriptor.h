// A file descriptor with one owner.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace wq {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const { return fd_; }
    bool valid() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset(int fd = -1) {
        if (fd_ >= 0) ::close(fd_);
        fd_ = fd;
    }

  private:
    int fd_ = -1;
};

// A pipe whose ends are closed on exec; not valid: errno says why.
struct Pipe {
    Descriptor read;
    Descriptor write;
    bool valid() const { return read.valid(); }
};
Pipe open_pipe();
bool set_nonblocking(const Descriptor& descriptor);

// Closes every descriptor from `first` on, in a process that has just been forked.
void close_from(int first);

// Wakes a thread that waits in poll(): a descriptor that is readable from set() to clear().
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
