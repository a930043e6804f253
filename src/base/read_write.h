// Reads and writes a whole text through a blocking descriptor.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace wq {

// All of these continue after a signal and after a part of the text. False: errno says why.

// Appends what `descriptor` has to `text`; stops soon after the text has more than `most` bytes.
bool read_all(int descriptor, std::string& text, std::size_t most = SIZE_MAX);
bool write_all(int descriptor, std::string_view bytes);
// The same at an offset of a file.
bool write_all_at(int file, std::string_view bytes, std::uint64_t offset);
// The same through a socket; without SIGPIPE, if its peer is gone.
bool send_all(int socket, std::string_view bytes);

// Empty if the file cannot be read.
std::string text_of_file(const std::string& path);

// After it, names that were made in the folder survive a loss of power. Some file systems do not support it
// and do not need it.
bool sync_folder(const std::string& path);

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
