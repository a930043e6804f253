// Passes descriptors over a Unix socket.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/descriptor.h"

namespace wq::node::process {

inline constexpr std::size_t most_at_once = 250;  // the kernel takes 253

// One message with `bytes` (at least one) and at most most_at_once descriptors. False: errno says why.
bool send_descriptors(int socket, std::span<const std::byte> bytes, std::span<const int> files,
                      int flags = 0);
// Appends to `files`. The number of bytes; 0: the other end is closed; -1: errno says why, EMFILE if there
// was no room for all descriptors.
ssize_t receive_descriptors(int socket, std::span<std::byte> bytes, std::vector<Descriptor>& files,
                            int flags = 0);

template <class T>
std::span<const std::byte> bytes_of_value(const T& value) {
    return std::as_bytes(std::span<const T, 1>(&value, 1));
}
template <class T>
std::span<std::byte> writable_bytes_of_value(T& value) {
    return std::as_writable_bytes(std::span<T, 1>(&value, 1));
}

}  // namespace wq::node::process
