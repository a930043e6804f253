#include "net/frames/tcp_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <climits>
#include <system_error>

#include "base/units.h"
#include "net/frames/tcp_engine.h"
#include "net/frames/tcp_socket.h"
#include "net/frames/tls_identity.h"

namespace wq::net::frames {

namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Connections accepted per turn, so that other work gets its turn.
constexpr int most_accepts = 512;
// Descriptors that are never used for peers.
constexpr rlim_t most_reserve = 64;
// When to retry if no descriptor was left even for a refusal.
constexpr Duration accept_again = std::chrono::milliseconds(100);

void raise_file_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// The division of descriptors. A new one gets the lowest free number, so a high number means that few are
// left.
struct Shares {
    int first_reserved = INT_MAX;
    std::size_t most_handshakes = 1;
};

Shares shares_of(std::size_t most_handshakes) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t all = std::min<rlim_t>(limit.rlim_cur, INT_MAX);
    return {static_cast<int>(all - std::min(all / 8, most_reserve)),
            std::max<std::size_t>(1, std::min<std::size_t>(most_handshakes, all / 4))};
}

Descriptor spare_descriptor() {
    return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

std::string busy_frame() {
    const std::string reason = refusal(
        ExitCode::unreachable,
        "busy: the manager has no descriptor left for another worker (its 'ulimit -n' is used up); try "
        "again later");
    const auto head = frame_head(reason.size());
    return std::string(head.data(), head.size()) + reason;
}

class Listener final : public TcpListener, private TcpEngineUser {
  public:
    Listener(TcpLinkPlan plan, std::size_t most_handshakes, ListeningSockets sockets, std::string digest)
        : port_(sockets.port),
          digest_(std::move(digest)),
          shares_(shares_of(most_handshakes)),
          spare_(spare_descriptor()),
          engine_(std::move(plan), *this),
          again_(engine_.context()) {
        for (Descriptor& descriptor : sockets.descriptors) {
            doors_.push_back(std::make_unique<stream_descriptor>(engine_.context(), descriptor.get()));
            descriptor.release();
        }
        engine_.start([this] {
            for (const auto& door : doors_) await(*door);
        });
    }

    ~Listener() override { engine_.stop(); }

    void send(PeerId peer, std::string frame) override { engine_.mailbox().send(peer, std::move(frame)); }
    bool poll(std::vector<Arrival>& inbox) override { return engine_.mailbox().take(inbox); }
    void admit(PeerId peer) override { engine_.mailbox().admit(peer); }
    void hold_back(PeerId peer, bool on) override { engine_.mailbox().hold_back(peer, on); }
    void expect_until(Instant until) override { engine_.mailbox().expect_until(until); }
    void close(PeerId peer) override { engine_.mailbox().close(peer); }
    bool idle() const override { return engine_.mailbox().idle(); }
    std::vector<int> descriptors() const override { return {engine_.mailbox().descriptor()}; }

    void set_silence(Duration silence) override {
        boost::asio::post(engine_.context(), [=, this] { engine_.set_silence(silence); });
    }
    void set_key(std::string key) override {
        boost::asio::post(engine_.context(), [this, key = std::move(key)] { engine_.set_key(key); });
    }
    void set_plain_refusal(std::string why) override {
        boost::asio::post(engine_.context(),
                          [this, why = std::move(why)] { engine_.set_plain_refusal(why); });
    }
    std::uint16_t port() const override { return port_; }
    std::string certificate_digest() const override { return digest_; }

    TcpListenCounts counts() const override {
        std::lock_guard lock(mutex_);
        return counts_;
    }

    std::vector<Note> take_notes() override { return notes_.take(); }

  private:
    void on_ready(TcpLink& link) override {
        count(&TcpListenCounts::joined);
        const TcpLinkPlan& plan = engine_.plan();
        notes_.add_note("auth", link.address() + " accepted: " + (plan.tls ? "TLS 1.3" : "no TLS") +
                                    (plan.key.empty() ? ", no key" : ", key"));
        engine_.join(link, PeerId(next_peer_++));
    }

    void on_question(TcpLink& link, std::string question) override {
        count(&TcpListenCounts::asked);
        notes_.add_note("tcp", link.address() + " asks for " + question);
        engine_.join_asker(link, PeerId(next_peer_++), std::move(question));
    }

    void on_end(TcpLink& link, std::optional<PeerId> peer, const Error& why) override {
        if (peer) return notes_.add_note("tcp", link.address() + " disconnected: " + why.message);
        count(&TcpListenCounts::refused);
        if (why.code == ExitCode::not_allowed)
            notes_.add_refusal(link.address() + " refused: " + why.message);
        else
            notes_.add_note("tcp", link.address() + " did not join: " + why.message);
    }

    void on_trouble(const std::string& what) noexcept override {
        try {
            notes_.add_note("tcp", "error at this end: " + what);
        } catch (const std::exception&) {  // then it stays unknown
        }
    }

    void on_stop() override {
        doors_.clear();
        again_.cancel();
    }

    void await(stream_descriptor& door) {
        door.async_wait(stream_descriptor::wait_read, [this, &door](const error_code& error) {
            if (!error && !doors_.empty()) accept_all(door);
        });
    }

    void accept_all(stream_descriptor& door) {
        for (int accepted = 0; accepted < most_accepts; ++accepted) {
            SocketAddress from;
            from.bytes = sizeof from.storage;
            const int descriptor =
                accept4(door.native_handle(), from.get(), &from.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (descriptor >= 0) {
                receive(descriptor, from);
                continue;
            }
            if (errno == EAGAIN || errno == EWOULDBLOCK) break;
            const bool used_up = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
            if (used_up && !send_next_away(door)) return await_descriptors(door);
            // Any other error concerns a connection that is already gone.
        }
        await(door);
    }

    void receive(int descriptor, const SocketAddress& from) {
        Descriptor owned(descriptor);
        // Connections in their handshake give way; authenticated ones stay.
        if (descriptor >= shares_.first_reserved && engine_.unfinished() == 0) return send_away(descriptor);
        if (descriptor >= shares_.first_reserved || engine_.unfinished() >= shares_.most_handshakes)
            drop_oldest();
        try {
            welcome(owned, to_text(from));
        } catch (const std::exception& error) {
            on_trouble(error.what());
        }
    }

    void drop_oldest() {
        const std::shared_ptr<TcpLink> link = engine_.oldest_unfinished()->shared_from_this();
        link->guarded([&] {
            link->drop(
                {ExitCode::unreachable, "too many others were in their handshake, and its took the longest"},
                "busy: too many others are in their handshake; try again later");
        });
    }

    void welcome(Descriptor& owned, std::string from) {
        count(&TcpListenCounts::accepted);
        notes_.add_note("tcp", from + " connected");
        prepare_socket(owned.get(), engine_.plan().limits);
        const auto link = engine_.add(owned.release(), std::move(from)).shared_from_this();
        link->guarded([&] { link->begin_connected(instant_now()); });
    }

    // Does not throw: otherwise nobody would accept connections any more.
    void send_away(int descriptor) noexcept {
        try {
            refuse_busy(descriptor);
        } catch (const std::exception& error) {
            on_trouble(error.what());
        }
    }

    void refuse_busy(int descriptor) {
        count(&TcpListenCounts::busy);
        notes_.add_note("tcp", "a connection was refused: no descriptor is left for another worker");
        const std::string frame = busy_frame();
        // A new socket takes this little at once, or the peer is gone.
        static_cast<void>(::send(descriptor, frame.data(), frame.size(), MSG_NOSIGNAL));
        ::shutdown(descriptor, SHUT_WR);
    }

    // Uses the reserved descriptor: the peer is told, instead of waiting in the backlog.
    bool send_next_away(stream_descriptor& door) {
        spare_ = {};
        Descriptor next(accept4(door.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        const bool someone = next.get() >= 0;
        if (someone) send_away(next.get());
        next = {};
        spare_ = spare_descriptor();
        return someone && spare_.get() >= 0;
    }

    void await_descriptors(stream_descriptor& door) {
        parked_.push_back(&door);
        if (parked_.size() > 1) return;
        again_.expires_after(accept_again);
        again_.async_wait([this](const error_code& error) {
            if (error || doors_.empty()) return;
            if (spare_.get() < 0) spare_ = spare_descriptor();
            for (stream_descriptor* each : std::exchange(parked_, {})) accept_all(*each);
        });
    }

    void count(std::uint64_t TcpListenCounts::*which) {
        std::lock_guard lock(mutex_);
        ++(counts_.*which);
    }

    const std::uint16_t port_;
    const std::string digest_;
    const Shares shares_;
    mutable std::mutex mutex_;
    TcpListenCounts counts_;
    NoteBook notes_;

    // Used by the engine's thread.
    Descriptor spare_;
    std::uint32_t next_peer_ = 0;
    TcpEngine engine_;
    boost::asio::steady_timer again_;
    std::vector<std::unique_ptr<stream_descriptor>> doors_;
    std::vector<stream_descriptor*> parked_;  // of these: those that wait for descriptors
};

}  // namespace

Result<std::unique_ptr<TcpListener>> TcpListener::open(TcpListenOptions options) {
    TcpLinkPlan plan{Role::manager, std::move(options.key),          nullptr, options.limits,
                     Duration{0},   std::move(options.plain_refusal)};
    std::string digest;
    if (options.tls) {
        auto context = TlsContext::of_manager(*options.tls);
        if (!context) return context.error();
        plan.tls = *context;
        auto found = frames::certificate_digest(*options.tls);
        if (!found) return found.error();
        digest = *found;
    }
    raise_file_limit();
    auto sockets = options.sockets.empty() ? listen_on(options.bind, options.low_port, options.high_port)
                                           : listen_with(options.sockets);
    if (!sockets) return sockets.error();
    try {
        return std::unique_ptr<TcpListener>(
            new Listener(std::move(plan), options.most_handshakes, std::move(*sockets), std::move(digest)));
    } catch (const Failure& failure) {
        return failure.error;
    } catch (const std::exception& error) {
        return cannot_begin(error);
    }
}

namespace {

// The kernel lowers it to net.core.somaxconn.
constexpr int backlog = 4096;
// With several addresses, a port that is free on the first may be in use on the next.
constexpr int most_draws = 64;

void set_port(SocketAddress& address, std::uint16_t port) {
    if (address.family() == AF_INET6) {
        reinterpret_cast<sockaddr_in6*>(address.get())->sin6_port = htons(port);
    } else {
        reinterpret_cast<sockaddr_in*>(address.get())->sin_port = htons(port);
    }
}

// A listening socket, or -1 with errno.
int listen_at(const SocketAddress& address, bool both_families) {
    const int descriptor = socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    const int on = 1, only_ipv6 = both_families ? 0 : 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6)
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, sizeof only_ipv6);
    if (bind(descriptor, address.get(), address.bytes) == 0 && listen(descriptor, backlog) == 0)
        return descriptor;
    const int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

std::uint16_t bound_port(int descriptor) {
    SocketAddress bound;
    bound.bytes = sizeof bound.storage;
    getsockname(descriptor, bound.get(), &bound.bytes);
    return port_of(bound);
}

// All addresses on one port; false with errno, and `failed` is the address that failed.
bool listen_at_port(const std::vector<SocketAddress>& addresses, bool both_families, std::uint16_t port,
                    ListeningSockets& sockets, SocketAddress& failed) {
    sockets.port = port;
    for (SocketAddress address : addresses) {
        set_port(address, sockets.port);
        const int descriptor = listen_at(address, both_families);
        if (descriptor < 0) {
            const int error = errno;
            sockets = {};
            failed = address;
            errno = error;
            return false;
        }
        sockets.descriptors.emplace_back(descriptor);
        if (sockets.port == 0) sockets.port = bound_port(descriptor);
    }
    return true;
}

Error cannot_listen(int error, const SocketAddress& at, std::uint16_t low, std::uint16_t high) {
    const std::string port = std::to_string(low);
    if (error == EADDRINUSE && low != high)
        return {ExitCode::unreachable,
                "no port from " + port + " to " + std::to_string(high) +
                    " is free on this machine: widen the range, or use port 0 for any free one"};
    if (error == EADDRINUSE)
        return {ExitCode::unreachable,
                "port " + port + " is in use on this machine: choose another, or 0 for any free one"};
    if (error == EACCES)
        return {ExitCode::not_allowed, "port " + port + " is not permitted: choose one from 1024 to 65535"};
    if (error == EADDRNOTAVAIL) return {ExitCode::usage, host_of(at) + " is not an address of this machine"};
    return {ExitCode::unreachable,
            "cannot listen on " + to_text(at) + ": " + std::system_category().message(error)};
}

Result<std::vector<SocketAddress>> addresses_of(const std::vector<std::string>& bind) {
    std::vector<SocketAddress> addresses;
    for (const std::string& host : bind) {
        if (!is_numeric(host))
            return Error{ExitCode::usage,
                         "cannot listen on " + quote_for_message(host) + ": no numeric address"};
        auto found = resolve({host, 0});
        if (!found) return found.error();
        addresses.push_back(found->front());
    }
    return addresses;
}

SocketAddress any_address(int family) {
    SocketAddress any;
    any.storage.ss_family = static_cast<sa_family_t>(family);
    any.bytes = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    return any;  // all zero means every address
}

// A machine without IPv6 cannot create or bind such a socket.
bool ipv6_works() {
    constexpr bool both_families = true;
    const int descriptor = listen_at(any_address(AF_INET6), both_families);
    if (descriptor >= 0) close(descriptor);
    return descriptor >= 0;
}

}  // namespace

Result<ListeningSockets> listen_on(const std::vector<std::string>& bind, std::uint16_t low,
                                   std::uint16_t high) {
    if (high < low) return Error{ExitCode::usage, "the range of ports is empty"};
    auto addresses = addresses_of(bind);
    if (!addresses) return addresses.error();
    const bool everywhere = addresses->empty();
    if (everywhere) addresses->push_back(any_address(ipv6_works() ? AF_INET6 : AF_INET));
    ListeningSockets sockets;
    SocketAddress failed;
    const int draws = low == 0 ? most_draws : 1;
    for (int draw = 0; draw < draws; ++draw) {
        for (int port = low; port <= high; ++port) {
            if (listen_at_port(*addresses, everywhere, static_cast<std::uint16_t>(port), sockets, failed))
                return sockets;
            if (errno != EADDRINUSE && errno != EACCES) return cannot_listen(errno, failed, low, high);
        }
        if (errno != EADDRINUSE) break;
    }
    return cannot_listen(errno, failed, low, high);
}

Result<ListeningSockets> listen_with(const std::vector<int>& sockets) {
    ListeningSockets duplicates;
    for (const int socket : sockets) {
        int listens = 0;
        socklen_t bytes = sizeof listens;
        if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0)
            return Error{ExitCode::usage,
                         "descriptor " + std::to_string(socket) + " is not a listening socket"};
        const int duplicate = fcntl(socket, F_DUPFD_CLOEXEC, 0);
        if (duplicate < 0)
            return Error{ExitCode::unreachable,
                         "cannot take over a socket: " + std::system_category().message(errno)};
        duplicates.descriptors.emplace_back(duplicate);
        fcntl(duplicate, F_SETFL, fcntl(duplicate, F_GETFL) | O_NONBLOCK);
        duplicates.port = bound_port(duplicate);
    }
    return duplicates;
}

}  // namespace wq::net::frames
