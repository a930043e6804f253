// Captures one output stream of a task through a pipe. A task is blocked only while the pipe is full: bytes
// beyond the limit are counted and discarded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace wq::node::process {

class Capture {
  public:
    Capture() = default;
    // Replaces the pipe, because some process still holds the other end of the old one. False, with errno
    // set, if no descriptor is left; there is then no pipe.
    bool renew();
    bool has_pipe() const { return read_.valid(); }

    // `aside`: a file to make for the stream once it exceeds engine::model::most_in_memory; empty: none.
    void begin(std::uint64_t limit, std::string aside = {});

    enum class State : std::uint8_t { more, empty, closed };
    // Reads what is in the pipe without waiting, up to about `most` bytes. more: there may be more; empty:
    // some process may still write; closed: none can.
    State drain(std::uint64_t most = 4u << 20);

    int read_end() const { return read_.get(); }
    bool in_poller = false;  // for the owner that polls it; false for a new pipe
    const char* writer_path() const {
        return path_.c_str();
    }                                               // valid in this process, and in its children until exec
    std::uint64_t total() const { return total_; }  // bytes written by the task so far
    // The kept bytes, with the marker if truncated. If these are in the file, it is named by take_file().
    std::string take(const char* stream);
    std::string take_file();

  private:
    std::int64_t read_some();
    std::int64_t discard_some();
    void keep(std::string_view bytes);
    bool move_aside();

    Descriptor read_;
    Descriptor sink_;  // opened when first needed
    std::uint64_t limit_ = 0;
    std::uint64_t total_ = 0;
    bool enlarged_ = false;
    std::string path_;
    std::string text_;
    std::string aside_;
    Descriptor file_;  // has the kept bytes
};

}  // namespace wq::node::process
