#include "threads/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

namespace wq {

namespace {
constexpr std::array stop_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
}

bool Signals::stops(int signal) {
    return std::find(stop_signals.begin(), stop_signals.end(), signal) != stop_signals.end();
}

Result<Signals> Signals::block() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : stop_signals) sigaddset(&set, number);
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0)
        return Error{ExitCode::internal, std::string("signals cannot be blocked: ") + std::strerror(errno)};
    const int descriptor = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor < 0)
        return Error{ExitCode::internal, std::string("no signal descriptor: ") + std::strerror(errno)};
    return Signals(descriptor);
}

Signals::Signals(Signals&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Signals::~Signals() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<int> Signals::next() {
    signalfd_siginfo info{};
    if (::read(descriptor_, &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
}

}  // namespace wq
