// Writes a text to a blocking descriptor.
#pragma once

#include <string_view>

namespace wq {

// Continues after a partial write, and after a signal. False: errno says why.
bool write_all(int descriptor, std::string_view bytes);
// The same for a socket; without SIGPIPE, if its peer is gone.
bool send_all(int socket, std::string_view bytes);

}  // namespace wq
