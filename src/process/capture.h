// One output stream of a task: a pipe and what is kept of it. A task is never held up beyond the pipe: what
// passes the limit is counted and thrown away.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"

namespace wq::process {

class Capture {
  public:
    Capture() = default;
    // A new pipe in place of the old, of which some process still holds the other end. False with errno set:
    // no descriptor is left, and there is no pipe.
    bool renew();
    bool has_pipe() const { return read_.valid(); }

    void begin(std::uint64_t limit);

    enum class State : std::uint8_t { more, empty, closed };
    // Takes what is in the pipe without waiting, up to about `most` bytes.
    // more: there may be more; empty: someone may yet write; closed: nobody can.
    State drain(std::uint64_t most = 4u << 20);

    int read_end() const { return read_.get(); }
    bool in_poller = false;  // for whoever polls it; a new pipe is not
    const char* writer_path() const {
        return path_.c_str();
    }                                               // good in this process and its children until exec
    std::uint64_t total() const { return total_; }  // bytes written by the task so far
    std::string take(const char* stream);           // what was kept, with the marker when cut

  private:
    std::int64_t read_some();
    std::int64_t discard_some();

    Descriptor read_;
    Descriptor sink_;  // opened when first needed
    std::uint64_t limit_ = 0;
    std::uint64_t total_ = 0;
    bool enlarged_ = false;
    std::string path_;
    std::string text_;
};

// "[work_queue: 12 more bytes of stdout not kept; the limit is 8388608 bytes]"
std::string cut_marker(const char* stream, std::uint64_t lost, std::uint64_t limit);

}  // namespace wq::process
