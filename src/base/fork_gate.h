// Locks of libraries that a child of fork() must find open, such as those of OpenSSL: a thread that holds one
// when another thread forks does not exist in the child, where the lock would stay closed.
#pragma once

namespace wq {

// A fork() on another thread waits while one lives. Keep it for a moment only, and only one a thread.
class NoFork {
  public:
    NoFork();
    ~NoFork();
    NoFork(const NoFork&) = delete;
};

}  // namespace wq
