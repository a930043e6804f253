#include "base/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "base/shortage.h"

namespace wq {

namespace {

constexpr std::array stop_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// A blocked signal reaches the descriptor even if it is ignored, as `nohup` ignores SIGHUP. But scripts start
// every `program &` with SIGINT ignored, without anybody's wish, and Ctrl-C is meant for all that they have
// started.
bool is_unwanted(int number) {
    struct sigaction now {};
    return number != SIGINT && ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

bool Signals::stops(int signal) {
    return std::find(stop_signals.begin(), stop_signals.end(), signal) != stop_signals.end();
}

Result<Signals> Signals::block() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : stop_signals)
        if (!is_unwanted(number)) sigaddset(&set, number);
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0)
        return Error{ExitCode::internal, std::string("signals cannot be blocked: ") + std::strerror(errno)};
    const int descriptor = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor < 0) return refused_by_system("no signal descriptor");
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
