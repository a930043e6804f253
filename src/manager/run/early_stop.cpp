#include "manager/run/early_stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/exit_code.h"

namespace wq::manager::run {

namespace {

void watch(int signals, int over, const std::string& last_words) {
    std::array<pollfd, 2> ready{{{over, POLLIN, 0}, {signals, POLLIN, 0}}};
    while (::poll(ready.data(), ready.size(), -1) <= 0) {
    }
    if (ready[0].revents != 0) return;
    if (!last_words.empty()) std::fprintf(stderr, "%s\n", last_words.c_str());
    ::_exit(to_int(ExitCode::interrupted));
}

}  // namespace

EarlyStop::EarlyStop(const Signals& signals, std::string last_words) : over_(::eventfd(0, EFD_CLOEXEC)) {
    // Without the eventfd the thread could not be ended: signals then wait for the loop.
    if (over_ >= 0) thread_ = std::thread(watch, signals.descriptor(), over_, std::move(last_words));
}

void EarlyStop::end() {
    if (!thread_.joinable()) return;
    ::eventfd_write(over_, 1);
    thread_.join();
    ::close(over_);
}

}  // namespace wq::manager::run
