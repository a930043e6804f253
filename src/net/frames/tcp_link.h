// One TCP connection from its first byte to its last: connecting (a worker's), TLS, handshake, frames,
// keep-alives, end. It lives on the socket thread and calls its owner.
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
#include "net/frames/frame_stream.h"
#include "net/frames/handshake.h"
#include "net/frames/tcp_socket.h"
#include "net/frames/tls_channel.h"

namespace wq::net::frames {

// Common to all links of one end.
struct TcpLinkPlan {
    Role role = Role::manager;
    std::string key;
    std::shared_ptr<TlsContext> tls;  // null: no TLS
    TcpLimits limits;
    Duration connect{0};
    std::string plain_refusal = ask_with_the_key;  // as TcpListenOptions
};

class TcpLink;

class TcpLinkOwner {
  public:
    virtual ~TcpLinkOwner() = default;
    virtual void on_ready(TcpLink& link) = 0;
    // Returns whether to read on; if not, reading waits for resume().
    virtual bool on_frames(TcpLink& link, std::vector<std::string>& frames) = 0;
    // The memory and bytes of its incomplete frame; 0: none. Returns whether to read on; if not, reading
    // waits for go_on().
    virtual bool on_begun(TcpLink& link, std::size_t memory, std::size_t received) = 0;
    // Called once, not after close(), and after all earlier frames. The link may stay a moment to send the
    // reason.
    virtual void on_end(TcpLink& link, const Error& why) = 0;
    // A peer asks in plain text (http_request.h); send() answers.
    virtual void on_question(TcpLink& link, std::string question) = 0;
    virtual void on_answer_taken(TcpLink& link) = 0;    // the kernel has all that was sent so far
    virtual void on_left(std::size_t frame_bytes) = 0;  // a frame was sent or dropped
    virtual void on_gone(TcpLink& link) noexcept = 0;   // the last call: its descriptor is closed
    virtual std::span<char> read_buffer() = 0;          // shared by all links of the thread
};

class TcpLink : public std::enable_shared_from_this<TcpLink> {
  public:
    // Takes ownership of `descriptor`, a non-blocking socket. If frames are unsent at its end, the connection
    // is reset: the peer must not take a part of what we said for all.
    TcpLink(boost::asio::io_context& context, int descriptor, std::uint64_t serial, std::string address,
            const TcpLinkPlan& plan, TcpLinkOwner& owner);

    // `host`: as the user named it, to check the certificate.
    void begin_connected(Instant now);
    void begin_connecting(const std::string& host, Instant now);

    void send(std::string frame);  // only when ready
    void flush();                  // after one or more send()
    void close();                  // frames sent before still leave; on_end is not called any more
    void end(Error why);           // as if the peer had ended it; on_end is called
    void admit();                  // removes the limit for unauthenticated peers: the limits of the options
                                   // hold
    void drop(const Error& why,
              const std::string& told);  // ends it now; tells the peer the reason if that takes no waiting
    void resume();                       // reads again, after on_frames()
    void go_on();                        // the same, after on_begun()
    void tick(Instant now);              // keep-alives and time-outs
    void forgive(Duration pause);        // excludes a pause of this process from the timeouts

    // Exceptions end this one connection and go no further. All calls above use it.
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
    std::string local_address();  // empty: disconnected
    bool close_by();              // both ends are on this machine
    Instant heard_at();           // when its last bytes reached this machine, read or not
    bool attentive() const;       // read without a pause for 1 s: what the peer sent can have arrived
    bool ready() const { return state_ == State::open; }
    bool closed_by_peer() const { return closed_by_peer_; }  // not reset
    bool unsent() const { return !pending_.empty() || !outgoing_.empty(); }
    bool asks() const { return asks_; }  // in plain text: it is no worker
    // Since when its peer has not taken what it asked for; nullopt: nothing waits for it.
    std::optional<Instant> waits_since() const;

  private:
    // `leaving`: pending frames are sent, then our side is shut down, and we read until the peer does the
    // same. Closing at once could destroy data that the peer has not read yet.
    enum class State { connecting, greeting, open, leaving, gone };

    void on_connected();
    void greet();
    void read();
    void on_readable();
    bool tell_begun();
    void tell_whole();
    bool take_bytes(std::string_view bytes);
    bool take_plain(std::string_view bytes);
    bool refuse_plain(std::string_view bytes);
    bool at_door(std::string_view bytes);
    bool begin_as_worker();
    bool send_away(std::string answer, const std::string& why);
    void refuse(ExitCode code, std::string_view reason);
    std::size_t head_bytes() const { return asks_ ? 0 : kFrameHeadBytes; }
    bool on_greeting(std::string_view frame);
    bool on_tls(std::string_view bytes);
    std::string frame_problem() const;
    void peer_ended(int error);
    void asked_all();

    void queue_frame(std::string frame);
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
    bool told_ = false;  // on_end or close() was called

    std::unique_ptr<TlsChannel> tls_;  // a manager's: from the peer's first record on
    std::string first_record_;         // as far as it has come, before that
    std::string door_;                 // a manager's: plain text that may become a question
    bool asks_ = false;                // it was one: no frames, but bytes leave
    bool deaf_ = false;                // it has asked, and sends nothing more
    bool owes_ = false;                // on_answer_taken()
    std::optional<Handshake> handshake_;
    FrameSplitter splitter_{kMostHandshakeFrame};
    std::vector<std::string> frames_;  // from one read
    std::size_t heard_bytes_ = 0;      // during the handshake
    bool reading_ = false;
    bool paused_ = false;     // the caller has too many unread frames
    bool held_back_ = false;  // the memory for incomplete frames is used up
    bool has_begun_ = false;  // on_begun() was called for this frame

    std::deque<std::string> pending_;  // frames; the first may be partly written
    std::size_t first_done_ = 0;       // bytes of the first frame that are written, its header included
    std::size_t pending_bytes_ = 0;    // of all of them, headers included
    std::size_t own_frames_ = 0;       // this many at the front belong to the handshake
    std::string outgoing_;             // ciphertext
    std::vector<std::size_t> sealed_;  // sizes of the frames that end in it
    std::size_t outgoing_done_ = 0;
    bool writing_ = false;  // waits until it is writable
    bool broken_ = false;   // for writing
    bool shut_ = false;     // our side is shut down
    bool closed_by_peer_ = false;

    Instant deadline_{};  // of the state
    Instant heard_at_{};
    Instant reads_since_{};    // without a pause
    Instant sent_at_{};        // when bytes were last written
    Instant waiting_since_{};  // since when data waits to be written
};

}  // namespace wq::net::frames
