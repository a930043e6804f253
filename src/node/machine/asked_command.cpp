#include "node/machine/asked_command.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace wq::node::machine {

namespace {

constexpr std::size_t longest_answer = 1u << 20;
constexpr int most_parts = 16;  // a pipe has 1 MiB where pages have 64 KiB
constexpr Duration kill_grace = std::chrono::seconds(1);

int milliseconds_until(Instant until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - instant_now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

AskedCommand::AskedCommand(const std::vector<std::string>& command, Errors errors) {
    Pipe out = open_pipe();
    if (!out.valid()) return;
    ChildOptions options{.out = out.write.get(), .group = ChildOptions::Group::own};
    Pipe kept;
    if (errors == Errors::kept) kept = open_pipe();
    if (kept.valid()) {
        set_nonblocking(kept.read);
        errors_ = std::move(kept.read);
        options.err = kept.write.get();
    }
    child_ = Child(command, options);
    if (child_.running()) out_ = std::move(out.read);
}

// A part only: a command that never stops writing is not read for ever.
void AskedCommand::read_errors() {
    constexpr std::size_t most_kept = 4096;
    std::array<char, 65536> part;
    const ssize_t got = errors_.valid() ? ::read(errors_.get(), part.data(), part.size()) : 0;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) return errors_.reset();
    error_text_.append(part.data(), static_cast<std::size_t>(got));
    if (error_text_.size() > most_kept) error_text_.erase(0, error_text_.size() - most_kept);
}

// Reads its errors meanwhile. Linux before 5.3 has no process descriptors: there this looks every 10 ms.
bool AskedCommand::ends_by(Instant until) {
    constexpr int look_every = 10;
    const Descriptor end = child_.end_descriptor();
    for (;;) {
        if (const auto code = child_.take_end()) {
            exit_code_ = *code;
            return true;
        }
        const int left = milliseconds_until(until);
        if (left <= 0) return false;
        pollfd waits[]{{end.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}};
        if (::poll(waits, 2, end.valid() ? left : std::min(left, look_every)) > 0 && waits[1].revents != 0)
            read_errors();
    }
}

void AskedCommand::end() {
    out_.reset();
    if (!child_.running()) return;
    child_.signal_all(SIGKILL);
    // One that hangs in the kernel, for example on a broken GPU, ends when it can: nobody waits for it.
    if (!ends_by(instant_now() + kill_grace)) child_.release();
}

std::optional<std::string> AskedCommand::answer(Duration limit, int stop) {
    const Instant until = instant_now() + limit;
    std::string text;
    bool whole = false;
    while (out_.valid() && !whole && text.size() < longest_answer) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - instant_now());
        pollfd ready[]{{out_.get(), POLLIN, 0}, {stop, POLLIN, 0}, {errors_.get(), POLLIN, 0}};
        const int there = left.count() <= 0 ? 0 : ::poll(ready, 3, static_cast<int>(left.count()));
        if (there < 0 && errno == EINTR) continue;
        stopped_ = there > 0 && ready[1].revents != 0;
        if (there <= 0 || stopped_) break;
        if (ready[2].revents != 0) read_errors();
        if (ready[0].revents == 0) continue;
        std::array<char, 4096> part;
        const ssize_t got = ::read(out_.get(), part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        text.append(part.data(), static_cast<std::size_t>(got));
        whole = got == 0;
    }
    if (whole && child_.running()) ends_by(until);  // it has closed its output, and is about to end
    end();
    for (int parts = 0; parts < most_parts && errors_.valid(); ++parts) read_errors();
    if (!whole) return std::nullopt;
    return text;
}

}  // namespace wq::node::machine
