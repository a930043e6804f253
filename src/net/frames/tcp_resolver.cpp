#include "net/frames/tcp_resolver.h"

#include <mutex>
#include <system_error>
#include <thread>

namespace wq::net::frames {

struct TcpResolver::Shared {
    std::mutex mutex;
    std::function<void(std::size_t, Resolved)> answer;  // empty: nobody waits any more

    void say(std::size_t index, Resolved found) {
        std::lock_guard lock(mutex);
        if (answer) answer(index, std::move(found));
    }
};

TcpResolver::TcpResolver(std::function<void(std::size_t, Resolved)> answer)
    : shared_(std::make_shared<Shared>()) {
    shared_->answer = std::move(answer);
}

TcpResolver::~TcpResolver() {
    std::lock_guard lock(shared_->mutex);
    shared_->answer = nullptr;
}

void TcpResolver::resolve(std::size_t index, const HostPort& from) {
    if (is_numeric(from.host)) return shared_->say(index, frames::resolve(from));
    try {
        // Signals are blocked in the creating thread, so this one inherits that.
        std::thread([shared = shared_, index, from] {
            try {
                shared->say(index, frames::resolve(from));
            } catch (const std::exception& error) {
                shared->say(index, Error{ExitCode::unreachable, error.what()});
            }
        }).detach();
    } catch (const std::system_error& error) {
        shared_->say(index, Error{ExitCode::unreachable, error.what()});
    }
}

}  // namespace wq::net::frames
