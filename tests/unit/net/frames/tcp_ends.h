// Common to the TCP tests: ends with waiting functions, and misbehaving peers on a bare socket. Timeouts here
// are no measurements: each is how long a broken build may hang.
#pragma once

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/frames/frame_stream.h"
#include "net/frames/handshake.h"
#include "net/frames/tcp_dialer.h"
#include "net/frames/tcp_listener.h"

namespace wq::net::frames::test {

inline constexpr Duration patience = std::chrono::seconds(60);

// A transport and everything that has arrived at it.
template <class T>
class End {
  public:
    explicit End(std::unique_ptr<T> transport) : transport_(std::move(transport)) {}
    T& operator*() { return *transport_; }
    T* operator->() { return transport_.get(); }
    void reset() { transport_.reset(); }

    // False if `there` does not become true.
    bool await(const std::function<bool()>& there) {
        const Instant limit = instant_now() + patience;
        for (;;) {
            const std::size_t before = arrivals.size();
            transport_->poll(arrivals);
            for (std::size_t at = before; admits && at < arrivals.size(); ++at)
                if (const auto* joined = std::get_if<Joined>(&arrivals[at])) transport_->admit(joined->peer);
            if (there()) return true;
            if (instant_now() > limit) return false;
            pollfd entry{transport_->descriptors().front(), POLLIN, 0};
            ::poll(&entry, 1, 10);
        }
    }

    template <class What>
    std::vector<What> all() const {
        std::vector<What> found;
        for (const Arrival& arrival : arrivals)
            if (const auto* what = std::get_if<What>(&arrival)) found.push_back(*what);
        return found;
    }
    template <class What>
    bool await_count(std::size_t count) {
        return await([&] { return all<What>().size() >= count; });
    }
    std::vector<std::string> frames() const {
        std::vector<std::string> bytes;
        for (const Frame& frame : all<Frame>()) bytes.push_back(frame.bytes);
        return bytes;
    }
    // The reason of the first Left; or what came instead.
    std::string why() {
        if (!await_count<Left>(1)) return "nobody left";
        return all<Left>().front().why;
    }
    PeerId first_peer() { return await_count<Joined>(1) ? all<Joined>().front().peer : PeerId(0xffff'ffff); }

    std::vector<Arrival> arrivals;
    bool admits = true;  // whoever joins

  private:
    std::unique_ptr<T> transport_;
};

using Manager = End<TcpListener>;
using Worker = End<TcpDialer>;

// Waits for the note of a connection that ended before it joined.
inline std::string note_of(Manager& manager) {
    std::string ended;
    manager.await([&] {
        for (const Note& note : manager->take_notes()) {
            const bool over = note.text.find(" refused: ") != std::string::npos ||
                              note.text.find(" did not join: ") != std::string::npos;
            if (over && ended.empty()) ended = note.text;
        }
        return !ended.empty();
    });
    return ended.empty() ? "no note" : ended;
}

inline TcpListenOptions on_loopback() {
    TcpListenOptions options;
    options.bind = {"127.0.0.1"};
    return options;
}
inline Manager listen(TcpListenOptions options = on_loopback()) {
    return Manager(TcpListener::open(std::move(options)).or_throw());
}
inline TcpDialOptions to_port(std::uint16_t port) {
    TcpDialOptions options;
    options.managers = {{"127.0.0.1", port}};
    return options;
}
inline Worker dial(TcpDialOptions options) {
    return Worker(TcpDialer::open(std::move(options)).or_throw());
}

inline std::string framed(std::string_view bytes) {
    const auto head = frame_head(bytes.size());
    return std::string(head.data(), head.size()) + std::string(bytes);
}

// A blocking socket on 127.0.0.1.
class Raw {
  public:
    explicit Raw(int descriptor) : descriptor_(descriptor) {
        const timeval limit{60, 0};
        setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    static Raw to(std::uint16_t port) {
        Raw raw(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_TRUE(raw.connect(port));
        return raw;
    }
    bool connect(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return ::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    Raw(Raw&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)),
          has_begun_(other.has_begun_),
          rest_(std::move(other.rest_)) {}
    Raw& operator=(Raw&&) = delete;
    ~Raw() { hang_up(); }

    int get() const { return descriptor_; }
    void hang_up() {
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    }
    // False: the other end is gone.
    bool say(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    bool say_frame(std::string_view bytes) {
        return say(framed(bytes).substr(std::exchange(has_begun_, false) ? 1 : 0));
    }
    // A manager greets whoever has begun a frame: this begins the next one.
    std::optional<std::string> hear_hello() {
        has_begun_ = true;
        say({"\0", 1});
        return hear_frame();
    }

    // Some bytes; none at the end.
    std::string hear() {
        char piece[65536];
        const ssize_t got = ::recv(descriptor_, piece, sizeof piece, 0);
        return got > 0 ? std::string(piece, static_cast<std::size_t>(got)) : std::string();
    }
    std::string hear_all() {
        std::string all = std::exchange(rest_, {});
        for (std::string piece = hear(); !piece.empty(); piece = hear()) all += piece;
        return all;
    }
    // The next frame that is no keep-alive; none at the end.
    std::optional<std::string> hear_words() {
        auto frame = hear_frame();
        while (frame && frame->empty()) frame = hear_frame();
        return frame;
    }
    // The next frame, including keep-alives; none at the end.
    std::optional<std::string> hear_frame() {
        for (;;) {
            if (rest_.size() >= kFrameHeadBytes) {
                FrameSplitter splitter(~std::size_t{0} >> 1);
                std::string_view head = std::string_view(rest_).substr(0, kFrameHeadBytes);
                splitter.take(head);
                const std::size_t whole = kFrameHeadBytes + (splitter.in_frame() ? splitter.announced() : 0);
                if (rest_.size() >= whole) {
                    std::string frame = rest_.substr(kFrameHeadBytes, whole - kFrameHeadBytes);
                    rest_.erase(0, whole);
                    return frame;
                }
            }
            const std::string piece = hear();
            if (piece.empty()) return std::nullopt;
            rest_ += piece;
        }
    }
    // Whether it succeeded; `handshake` has the error.
    bool shake_hands(Handshake& handshake) {
        say_frame(handshake.hello());
        while (handshake.going()) {
            const auto frame = hear_frame();
            if (!frame) return false;
            const std::string answer = handshake.on_frame(*frame);
            if (!answer.empty()) say_frame(answer);
        }
        return handshake.done();
    }
    bool join(const std::string& key = {}) {
        Handshake handshake(Role::worker, key, {}, fresh_nonce());
        return shake_hands(handshake);
    }

  private:
    int descriptor_;
    bool has_begun_ = false;
    std::string rest_;
};

// A port of 127.0.0.1 whose connections a test handles itself.
class RawDoor {
  public:
    RawDoor() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(descriptor_, 10), 0);
        socklen_t bytes = sizeof address;
        getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &bytes);
        port_ = ntohs(address.sin_port);
    }
    RawDoor(const RawDoor&) = delete;
    RawDoor& operator=(const RawDoor&) = delete;
    ~RawDoor() { shut(); }
    std::uint16_t port() const { return port_; }
    int descriptor() const { return descriptor_; }
    Raw accept() { return Raw(::accept(descriptor_, nullptr, nullptr)); }
    void shut() {
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    }

  private:
    int descriptor_;
    std::uint16_t port_ = 0;
};

// A port without a listener; it is bound, so nobody else gets it.
class DeadPort {
  public:
    DeadPort() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        socklen_t bytes = sizeof address;
        getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &bytes);
        port_ = ntohs(address.sin_port);
    }
    DeadPort(const DeadPort&) = delete;
    DeadPort& operator=(const DeadPort&) = delete;
    ~DeadPort() { ::close(descriptor_); }
    std::uint16_t port() const { return port_; }

  private:
    int descriptor_;
    std::uint16_t port_ = 0;
};

}  // namespace wq::net::frames::test
