#include "transport/tcp_listener.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <climits>

#include "transport/notes.h"
#include "transport/tcp_engine.h"
#include "transport/tcp_socket.h"
#include "transport/tls_identity.h"

namespace wq::transport {

namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// One turn accepts so many at most, so that others have theirs.
constexpr int most_accepts = 512;
// So many descriptors no peer is given.
constexpr rlim_t most_reserve = 64;
// Where no descriptor was left even for a refusal, it is tried again after so long.
constexpr Duration accept_again = std::chrono::milliseconds(100);

rlimit raise_file_limit() {
    rlimit original{};
    getrlimit(RLIMIT_NOFILE, &original);
    rlimit raised = original;
    raised.rlim_cur = raised.rlim_max;
    setrlimit(RLIMIT_NOFILE, &raised);
    return original;
}

// How the descriptors are shared out. The lowest free number is what a new one gets, so that a high number
// tells that few are left.
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

OwnedDescriptor spare_descriptor() {
    return OwnedDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
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
    Listener(TcpLinkPlan plan, std::size_t most_handshakes, Listening sockets, std::string print,
             rlimit original)
        : port_(sockets.port),
          print_(std::move(print)),
          original_limit_(original),
          shares_(shares_of(most_handshakes)),
          spare_(spare_descriptor()),
          engine_(std::move(plan), *this),
          again_(engine_.context()) {
        for (OwnedDescriptor& descriptor : sockets.descriptors) {
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
    void close(PeerId peer) override { engine_.mailbox().close(peer); }
    bool idle() const override { return engine_.mailbox().idle(); }
    std::vector<int> descriptors() const override { return {engine_.mailbox().descriptor()}; }

    void set_keep_alive(Duration keep_alive, Duration silence) override {
        boost::asio::post(engine_.context(), [=, this] { engine_.set_keep_alive(keep_alive, silence); });
    }
    std::uint16_t port() const override { return port_; }
    std::string certificate_print() const override { return print_; }
    rlimit original_file_limit() const override { return original_limit_; }

    TcpListenCounts counts() const override {
        std::lock_guard lock(mutex_);
        return counts_;
    }

    std::vector<Note> take_notes() override { return notes_.take(); }

  private:
    void on_ready(TcpLink& link) override {
        count(&TcpListenCounts::joined);
        const TcpLinkPlan& plan = engine_.plan();
        notes_.put("auth", link.address() + " accepted: " + (plan.tls ? "TLS 1.3" : "no TLS") +
                               (plan.key.empty() ? ", no key" : ", key"));
        engine_.join(link, PeerId(next_peer_++));
    }

    void on_end(TcpLink& link, std::optional<PeerId> peer, const Error& why) override {
        if (peer) return notes_.put("tcp", link.address() + " cut: " + why.message);
        count(&TcpListenCounts::refused);
        if (why.code == ExitCode::not_allowed)
            notes_.put("auth", link.address() + " refused: " + why.message);
        else
            notes_.put("tcp", link.address() + " did not join: " + why.message);
    }

    void on_trouble(const std::string& what) noexcept override {
        try {
            notes_.put("tcp", "trouble of this end: " + what);
        } catch (const std::exception&) {  // it is not known then
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
            // Any other error is of a connection that is gone already.
        }
        await(door);
    }

    void receive(int descriptor, const SocketAddress& from) {
        OwnedDescriptor owned(descriptor);
        // Strangers who say nothing give way; who is inside stays.
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
                {ExitCode::unreachable, "too many others are in their handshake, and its was the longest"},
                "busy: too many others are in their handshake; try again later");
        });
    }

    void welcome(OwnedDescriptor& owned, std::string from) {
        count(&TcpListenCounts::accepted);
        notes_.put("tcp", from + " connected");
        prepare_socket(owned.get(), engine_.plan().limits);
        const auto link = engine_.add(owned.release(), std::move(from)).shared_from_this();
        link->guarded([&] { link->begin_connected(instant_now()); });
    }

    // Nothing thrown leaves it: nobody would wait at the door any more.
    void send_away(int descriptor) noexcept {
        try {
            refuse_busy(descriptor);
        } catch (const std::exception& error) {
            on_trouble(error.what());
        }
    }

    void refuse_busy(int descriptor) {
        count(&TcpListenCounts::busy);
        notes_.put("tcp", "somebody was sent away: no descriptor is left for another worker");
        const std::string frame = busy_frame();
        // A fresh socket takes so little at once, or the peer is gone.
        static_cast<void>(::send(descriptor, frame.data(), frame.size(), MSG_NOSIGNAL));
        ::shutdown(descriptor, SHUT_WR);
    }

    // With the one descriptor that was kept for it: who knocks is told, instead of hanging in the backlog.
    bool send_next_away(stream_descriptor& door) {
        spare_ = {};
        OwnedDescriptor next(accept4(door.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
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
    const std::string print_;
    const rlimit original_limit_;
    const Shares shares_;
    mutable std::mutex mutex_;
    TcpListenCounts counts_;
    NoteBook notes_;

    // The engine's thread's.
    OwnedDescriptor spare_;
    std::uint32_t next_peer_ = 0;
    TcpEngine engine_;
    boost::asio::steady_timer again_;
    std::vector<std::unique_ptr<stream_descriptor>> doors_;
    std::vector<stream_descriptor*> parked_;  // of these: wait for descriptors
};

}  // namespace

Result<std::unique_ptr<TcpListener>> TcpListener::open(TcpListenOptions options) {
    TcpLinkPlan plan{Role::manager, std::move(options.key), nullptr, options.limits, Duration{0}};
    std::string print;
    if (options.tls) {
        auto context = TlsContext::of_manager(*options.tls);
        if (!context) return context.error();
        plan.tls = *context;
        auto found = transport::certificate_print(*options.tls);
        if (!found) return found.error();
        print = *found;
    }
    const rlimit original = raise_file_limit();
    auto sockets = options.sockets.empty() ? listen_on(options.bind, options.low_port, options.high_port)
                                           : listen_with(options.sockets);
    if (!sockets) return sockets.error();
    try {
        return std::unique_ptr<TcpListener>(new Listener(std::move(plan), options.most_handshakes,
                                                         std::move(*sockets), std::move(print), original));
    } catch (const Failure& failure) {
        return failure.error;
    } catch (const std::exception& error) {
        return cannot_begin(error);
    }
}

}  // namespace wq::transport
