#include "net/catalog/conversation.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/wake.h"
#include "net/frames/tcp_resolver.h"

namespace wq::net::catalog {

namespace {

Error unreachable(const std::string& what) {
    return {ExitCode::unreachable, what};
}
Error failed(const std::string& what, int error = errno) {
    return unreachable(what + ": " + std::strerror(error));
}

Result<Descriptor> connected(const frames::SocketAddress& address, const Patience& patience,
                             const std::string& name) {
    Descriptor socket(frames::connect_to(address, {}));
    if (socket.get() < 0) return failed(name);
    if (const Status ready = wait_for(socket.get(), POLLOUT, patience, name); !ready) return ready.error();
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return failed(name, error);
    return socket;
}

Status write_to(int socket, std::string_view bytes, const Patience& patience, const std::string& name) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            if (const Status ready = wait_for(socket, POLLOUT, patience, name); !ready) return ready;
        } else if (errno != EINTR) {
            return failed(name);
        }
    }
    return success();
}

Result<std::string> read_from(int socket, std::size_t most_bytes, const Patience& patience,
                              const std::string& name) {
    std::string text;
    std::array<char, 1 << 16> part;
    for (;;) {
        const ssize_t count = ::recv(socket, part.data(), part.size(), 0);
        if (count == 0) return text;
        if (count > 0) {
            text.append(part.data(), static_cast<std::size_t>(count));
            if (text.size() > most_bytes) return unreachable(name + ": its answer is too long");
        } else if (errno == EAGAIN) {
            if (const Status ready = wait_for(socket, POLLIN, patience, name); !ready) return ready.error();
        } else if (errno != EINTR) {
            return failed(name);
        }
    }
}

}  // namespace

Status wait_for(int descriptor, short events, const Patience& patience, const std::string& what) {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(patience.until - instant_now()).count();
        std::array<pollfd, 2> watched{{{descriptor, events, 0}, {patience.stop, POLLIN, 0}}};
        const int ready = ::poll(watched.data(), watched.size(),
                                 static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
        if (watched[1].revents != 0) return Error{ExitCode::interrupted, what + ": interrupted"};
        if (watched[0].revents != 0) return success();
        if (ready < 0 && errno != EINTR) return failed(what);
        if (left <= 0) return unreachable(what + ": it does not answer in time");
    }
}

Result<std::vector<frames::SocketAddress>> look_up(const frames::HostPort& host, const Patience& patience) {
    const std::string name = frames::to_text(host);
    const Wake ready;
    if (!ready.valid()) return failed(name);
    std::mutex mutex;
    frames::Resolved found = std::vector<frames::SocketAddress>{};
    frames::TcpResolver resolver([&](std::size_t, frames::Resolved answer) {
        const std::lock_guard lock(mutex);
        found = std::move(answer);
        ready.set();
    });
    resolver.resolve(0, host);
    if (const Status done = wait_for(ready.descriptor(), POLLIN, patience, name); !done) return done.error();
    const std::lock_guard lock(mutex);
    if (!found) return unreachable(name + ": " + found.error().message);
    return std::move(*found);
}

Result<std::string> converse(const frames::HostPort& host, std::string_view says, std::size_t most_bytes,
                             const Patience& patience) {
    const std::string name = frames::to_text(host);
    const auto addresses = look_up(host, patience);
    if (!addresses) return addresses.error();
    Error last = unreachable(name + ": it has no address");
    for (const frames::SocketAddress& address : *addresses) {
        auto socket = connected(address, patience, name);
        if (!socket) {
            last = socket.error();
            continue;
        }
        if (const Status written = write_to(socket->get(), says, patience, name); !written)
            return written.error();
        ::shutdown(socket->get(), SHUT_WR);
        return read_from(socket->get(), most_bytes, patience, name);
    }
    return last;
}

}  // namespace wq::net::catalog
