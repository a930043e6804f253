// Writes a text to a blocking descriptor.
#pragma once

#include <signal.h>

#include <string_view>

namespace wq {

// Continues after a partial write, and after a signal. False: errno says why.
bool write_all(int descriptor, std::string_view bytes);
// The same for a socket; without SIGPIPE, if its peer is gone.
bool send_all(int socket, std::string_view bytes);

// A program that writes to pipes whose readers may end first.

// From now on, a write to a pipe without a reader is an error, on this thread and on threads that it starts
// later; it does not end the process. Child processes inherit that, unless they unblock SIGPIPE.
inline void block_broken_pipes() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace wq
