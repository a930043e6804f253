// The limit of a stream's kept bytes: the launcher cuts it there, and the manager what a worker sends uncut.
#pragma once

#include <cstdint>
#include <string>

#include "core/outcome.h"

namespace wq::core {

// The most bytes of one stream that a program's manager keeps. Of most_output_limit bytes and less, a stream
// travels whole; above, one larger than most_in_memory is a file that travels in parts.
inline constexpr std::uint64_t most_output = std::uint64_t{1} << 30;
inline constexpr std::uint64_t most_in_memory = 16u << 20;

// "[work_queue: 12 more bytes of stdout not kept; the limit is 8388608 bytes]"
std::string cut_marker(const char* stream, std::uint64_t lost, std::uint64_t limit);

// Truncates a stream of which the task wrote `total` bytes, and appends the marker, if that exceeds the
// limit.
void cut_at(std::uint64_t limit, std::string& text, const char* stream, std::uint64_t total);

// The same for both streams of an output that was to be cut already: nothing changes if it was.
void cut_again(std::uint64_t limit, Output& output, const Outcome& outcome);

}  // namespace wq::core
