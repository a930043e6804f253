// A file descriptor with one owner.
#pragma once

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

}  // namespace wq
