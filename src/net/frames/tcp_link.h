// One TCP connection from its first byte to its last: connecting (a worker's), TLS, handshake, frames,
// keep-alives, end. It lives on the socket thread and calls its owner.
#pragma once

#include <bitset>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/frames/link_reader.h"
#include "net/frames/link_writer.h"

namespace wq::net::frames {

class TcpLink;

class TcpLinkOwner {
  public:
    virtual ~TcpLinkOwner() = default;
    virtual void on_ready(TcpLink& link) = 0;
    // Returns whether to read on; if not, reading waits for resume(TcpLink::for_frames).
    virtual bool on_frames(TcpLink& link, std::vector<std::string>& frames) = 0;
    // The memory and bytes of its incomplete frame; 0: none. Returns whether to read on; if not, reading
    // waits for resume(TcpLink::for_memory).
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
    void end(const Error& why);    // as if the peer had ended it; on_end is called
    void admit();                  // removes the limit for unauthenticated peers: the limits of the options
                                   // hold
    void drop(const Error& why,
              const std::string& told);  // ends it now; tells the peer the reason if that takes no waiting

    // Why reading waits: the owner has too many unread frames, or no memory for incomplete ones. Each is a
    // bit of a set.
    enum Hold : std::size_t { for_frames, for_memory, holds };
    void resume(Hold over);        // reads again, unless the other reason holds
    void tick(Instant now);        // keep-alives and time-outs
    void forgive(Duration pause);  // excludes a pause of this process from the timeouts

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
    int descriptor() { return socket_.native_handle(); }
    const LinkWriter& writer() const { return writer_; }
    bool attentive() const;  // read without a pause for 1 s: what the peer sent can have arrived
    bool ready() const { return state_ == State::open; }
    bool closed_by_peer() const { return closed_by_peer_; }  // not reset

  private:
    // `leaving`: pending frames are sent, then our side is shut down, and we read until the peer does the
    // same. Closing at once could destroy data that the peer has not read yet.
    enum class State { connecting, greeting, open, leaving, gone };

    void on_connected();
    void read();
    void on_readable();
    bool act_on(LinkReader::Heard heard);
    bool count_begun(std::size_t whole_frames);
    void peer_ended(int error);
    void write();
    void break_off(const std::exception& why) noexcept;
    void leave();
    void vanish();

    boost::asio::posix::stream_descriptor socket_;
    const std::uint64_t serial_;
    const std::string address_;
    const TcpLinkPlan& plan_;
    TcpLinkOwner& owner_;
    State state_ = State::greeting;
    bool told_ = false;  // on_end or close() was called
    bool closed_by_peer_ = false;
    bool has_begun_ = false;  // on_begun() was called for this frame

    enum Await : std::size_t { to_read, to_write, awaits };
    std::bitset<awaits> awaited_;  // of the socket
    std::bitset<holds> held_;      // why reading waits
    LinkWriter writer_;
    LinkReader reader_{plan_, writer_};
    std::vector<std::string> frames_;  // from one read

    Instant deadline_{};  // of the state
    Instant heard_at_{};
    Instant reads_since_{};  // without a pause
};

}  // namespace wq::net::frames
