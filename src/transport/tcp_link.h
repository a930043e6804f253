// One TCP connection from its first byte to its last: connects (a worker's), TLS, handshake, frames,
// keep-alives, end. It lives on the thread of the sockets and tells its owner what happens.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/frame_stream.h"
#include "transport/handshake.h"
#include "transport/tcp_options.h"
#include "transport/tls_channel.h"

namespace wq::transport {

// What all links of one end share.
struct TcpLinkPlan {
    Role role = Role::manager;
    std::string key;
    std::shared_ptr<TlsContext> tls;  // null: none
    TcpLimits limits;
    Duration connect{0};
};

class TcpLink;

class TcpLinkOwner {
  public:
    virtual ~TcpLinkOwner() = default;
    virtual void on_ready(TcpLink& link) = 0;
    // Returns whether to go on reading; if not, resume() does.
    virtual bool on_frames(TcpLink& link, std::vector<std::string>& frames) = 0;
    // What it has of a frame begun; 0: none. Returns whether to go on reading; if not, go_on() does.
    virtual bool on_begun(TcpLink& link, std::size_t memory, std::size_t received) = 0;
    // Once, and not after close(). Frames of before have been told. The link may live on to say why.
    virtual void on_end(TcpLink& link, const Error& why) = 0;
    virtual void on_left(std::size_t frame_bytes) = 0;  // a frame left us, or was dropped
    virtual void on_gone(TcpLink& link) noexcept = 0;   // last: its descriptor is closed
    virtual std::span<char> read_buffer() = 0;          // shared by all links of the thread
};

class TcpLink : public std::enable_shared_from_this<TcpLink> {
  public:
    // `descriptor` is a non-blocking socket, which the link owns from now on.
    TcpLink(boost::asio::io_context& context, int descriptor, std::uint64_t serial, std::string address,
            const TcpLinkPlan& plan, TcpLinkOwner& owner);

    // `host`: as the user named it, for the certificate.
    void begin_connected(Instant now);
    void begin_connecting(const std::string& host, Instant now);

    void send(std::string frame);  // only once ready
    void flush();                  // after one or more send()
    void close();                  // what was sent still leaves; on_end is not called any more
    void end(Error why);           // as if the peer had; on_end is called
    void admit();                  // its frames may be as long as the limits say
    void drop(const Error& why,
              const std::string& told);  // the peer is told if that is soon said; gone at once
    void resume();                       // read again, after on_frames()
    void go_on();                        // the same, after on_begun()
    void tick(Instant now);              // keep-alives and time-outs
    void forgive(Duration pause);        // we ourselves stood still for so long

    // Nothing that is thrown leaves a link: it costs the one connection. All of the above by this.
    template <class F>
    bool guarded(F&& act) noexcept {
        try {
            act();
            return true;
        } catch (const std::exception& why) {
            break_off(why);
            return false;
        }
    }

    std::uint64_t serial() const { return serial_; }
    const std::string& address() const { return address_; }
    std::string local_address();  // empty: not connected any more
    Instant heard_at();           // when its last bytes reached this machine, read or not
    bool attentive() const;       // for a moment already, what it says can reach this machine
    bool ready() const { return state_ == State::open; }
    bool unsent() const { return !pending_.empty() || !outgoing_.empty(); }
    bool encrypted() const { return tls_ != nullptr; }

  private:
    // `leaving`: what is pending leaves, then the peer is told that nothing more comes and heard until it
    // agrees: to close at once could destroy on its side what it has not read yet.
    enum class State { connecting, greeting, open, leaving, gone };

    void on_connected();
    void greet();
    void read();
    void on_readable();
    bool tell_begun();
    void tell_whole();
    bool take_bytes(std::string_view bytes);
    bool take_plain(std::string_view bytes);
    bool on_greeting(std::string_view frame);
    bool on_tls(std::string_view bytes);
    std::string frame_problem() const;
    void peer_ended(int error);

    void put(std::string frame);
    void write();
    bool write_gathered();
    bool write_outgoing();
    bool wrote(ssize_t bytes);
    void seal();
    void await_writable();
    void frame_left(std::size_t bytes);
    void drop_unsent();

    void break_off(const std::exception& why) noexcept;
    void fail(Error why);
    void leave();
    void vanish();

    boost::asio::posix::stream_descriptor socket_;
    const std::uint64_t serial_;
    const std::string address_;
    const TcpLinkPlan& plan_;
    TcpLinkOwner& owner_;
    State state_ = State::greeting;
    bool told_ = false;  // on_end was called, or close()

    std::unique_ptr<TlsChannel> tls_;
    std::optional<Handshake> handshake_;
    FrameSplitter splitter_{kMostHandshakeFrame};
    std::vector<std::string> frames_;  // of one read
    std::size_t heard_bytes_ = 0;      // until the handshake is over
    bool reading_ = false;
    bool paused_ = false;     // its frames wait for the caller
    bool held_back_ = false;  // the memory for half frames is spent
    bool has_begun_ = false;  // on_begun() was told of a frame

    std::deque<std::string> pending_;  // frames, the first perhaps partly written
    std::size_t first_done_ = 0;       // bytes of the first one that have left, its head included
    std::size_t pending_bytes_ = 0;    // of all of them, heads included
    std::size_t own_frames_ = 0;       // the first so many are of the handshake, not the owner's
    std::string outgoing_;             // ciphertext
    std::vector<std::size_t> sealed_;  // sizes of the frames that end in it
    std::size_t outgoing_done_ = 0;
    bool writing_ = false;  // waits to become writable
    bool broken_ = false;   // for writing
    bool shut_ = false;     // we have said that nothing more comes

    Instant deadline_{};  // of the state
    Instant heard_at_{};
    Instant reads_since_{};    // without a pause
    Instant sent_at_{};        // some byte was taken
    Instant waiting_since_{};  // something waits to leave
};

}  // namespace wq::transport
