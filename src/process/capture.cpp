#include "process/capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace wq::process {

namespace {

constexpr std::size_t chunk = 64u << 10;  // a pipe's size unless enlarged
constexpr int large_pipe = 1 << 20;       // for tasks that write much: fewer wake-ups
constexpr std::size_t splice_most = 1u << 20;

}  // namespace

bool Capture::renew() {
    int ends[2];
    read_.reset();
    enlarged_ = in_poller = false;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    read_.reset(ends[0]);
    close(ends[1]);
    // Not /proc/self, because the kernel would have to allocate its entries in each new process.
    path_ = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(ends[0]);
    return true;
}

void Capture::begin(std::uint64_t limit) {
    limit_ = limit;
    total_ = 0;
    text_.clear();
}

Capture::State Capture::drain(std::uint64_t most) {
    for (std::uint64_t seen = 0; seen < most;) {
        const std::int64_t got = total_ < limit_ ? read_some() : discard_some();
        if (got <= 0) return got == 0 ? State::closed : State::empty;
        seen += static_cast<std::uint64_t>(got);
        total_ += static_cast<std::uint64_t>(got);
        if (static_cast<std::size_t>(got) < chunk || enlarged_) continue;
        enlarged_ = true;
        fcntl(read_.get(), F_SETPIPE_SZ, large_pipe);  // failure only costs speed
    }
    return State::more;
}

std::int64_t Capture::read_some() {
    std::array<char, chunk> buffer;
    const ssize_t got = read(read_.get(), buffer.data(), buffer.size());
    if (got > 0) {
        const auto room = static_cast<std::size_t>(
            std::min<std::uint64_t>(limit_ - total_, static_cast<std::uint64_t>(got)));
        text_.append(buffer.data(), room);
    }
    return got;
}

// Moves pages to /dev/null without reading them.
std::int64_t Capture::discard_some() {
    if (!sink_.valid()) sink_.reset(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return splice(read_.get(), nullptr, sink_.get(), nullptr, splice_most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}

std::string Capture::take(const char* stream) {
    if (total_ > limit_) {
        if (!text_.empty() && text_.back() != '\n') text_ += '\n';
        text_ += cut_marker(stream, total_ - limit_, limit_);
        text_ += '\n';
    }
    return std::exchange(text_, {});
}

std::string cut_marker(const char* stream, std::uint64_t lost, std::uint64_t limit) {
    return "[work_queue: " + std::to_string(lost) + " more bytes of " + stream + " not kept; the limit is " +
           std::to_string(limit) + " bytes]";
}

}  // namespace wq::process
