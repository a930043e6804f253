// A thread for what may block, as everything on a file system may: a network's can hang for minutes, and no
// heartbeat waits for it. Jobs run there one after the other, in the order given; what a job leaves to be
// done is called on the thread of the loop.
//
// Long work is cut into jobs that post the next one, so that others have their turn between.
#pragma once

#include <cstddef>
#include <functional>

namespace wq {

inline constexpr std::size_t bytes_a_job = 4 << 20;  // at most, of a job that reads or writes files

class Background {
  public:
    using Then = std::function<void()>;  // may be empty
    using Job = std::function<Then()>;

    virtual ~Background() = default;

    virtual void post(Job job) = 0;
    // Readable when a job has ended.
    virtual int descriptor() const = 0;
    // Calls what jobs that have ended left to be done. Returns whether there was any.
    virtual bool finish() = 0;
};

}  // namespace wq
