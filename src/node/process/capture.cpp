#include "node/process/capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/read_write.h"
#include "engine/model/outcome.h"

namespace wq::node::process {

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

void Capture::begin(std::uint64_t limit, std::string aside) {
    limit_ = limit;
    total_ = 0;
    text_.clear();
    aside_ = std::move(aside);
    file_.reset();
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
        keep({buffer.data(), static_cast<std::size_t>(
                                 std::min<std::uint64_t>(limit_ - total_, static_cast<std::uint64_t>(got)))});
    }
    return got;
}

void Capture::keep(std::string_view bytes) {
    const bool too_large = !aside_.empty() && text_.size() + bytes.size() > engine::model::most_in_memory;
    if (too_large && !file_.valid() && !move_aside())
        limit_ = std::min(limit_, engine::model::most_output_limit);
    if (!file_.valid()) {
        text_ += bytes;
    } else if (!write_all(file_.get(), bytes)) {
        std::ignore = ::ftruncate(file_.get(), static_cast<off_t>(total_));
        limit_ = total_;  // the disk is full
    }
}

bool Capture::move_aside() {
    const std::string path = std::exchange(aside_, {});
    Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!file.valid()) return false;
    if (!write_all(file.get(), text_)) {
        unlink(path.c_str());
        return false;
    }
    text_ = std::string();
    file_ = std::move(file);
    aside_ = path;
    return true;
}

// Moves pages to /dev/null without reading them.
std::int64_t Capture::discard_some() {
    if (!sink_.valid()) sink_.reset(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return splice(read_.get(), nullptr, sink_.get(), nullptr, splice_most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}

std::string Capture::take_file() {
    if (!file_.valid()) return {};
    file_.reset();
    return std::exchange(aside_, {});
}

std::string Capture::take(const char* stream) {
    if (file_.valid() && total_ > limit_) {
        // The marker is the last thing; without room for it, only that is missing.
        std::string marker;
        engine::model::cut_at(limit_, marker, stream, total_);
        std::ignore = write_all(file_.get(), "\n" + marker);
        return {};
    }
    engine::model::cut_at(limit_, text_, stream, total_);
    return std::exchange(text_, {});
}

}  // namespace wq::node::process
