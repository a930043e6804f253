// The writing half of a link: frames that wait, and how they leave: gathered from their buffers, or encrypted
// in pieces of 64 KiB. It never waits for the socket; the link does.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/frames/frame_stream.h"

namespace wq::net::frames {

class TcpLinkOwner;
class TlsChannel;

class LinkWriter {
  public:
    LinkWriter(int socket, TcpLinkOwner& owner) : socket_(socket), owner_(owner) {}

    // `link`: a frame of the handshake, which leaves before all frames of the owner, or an empty keep-alive.
    // `owner`: the owner hears by on_left() when the frame has left.
    enum class From { link, owner };
    void add(std::string frame, From whom);
    // From now on frames leave without their heads: the peer asks in plain text.
    void leave_out_heads() { head_bytes_ = 0; }

    enum class Written {
        all,     // nothing is left
        some,    // write on when the socket takes more
        failed,  // this call has met the error
    };
    // `tls`: null: none.
    Written write(TlsChannel* tls);
    // Adds the closing bytes of TLS. False: they were added before.
    bool add_end(TlsChannel& tls);
    void drop_all();

    bool broken() const { return way_ == Way::broken; }  // nothing can be written any more
    int error() const { return error_; }                 // of the call that failed
    bool unsent() const { return !pending_.empty() || !outgoing_.empty(); }
    bool has_frames() const { return !pending_.empty() || !sealed_.empty(); }  // not only bytes of TLS itself
    std::size_t waiting_bytes() const { return waiting_bytes_; }

    void begin(Instant now) { sent_at_ = now; }
    Instant sent_at() const { return sent_at_; }
    // When the peer took bytes last, or since when there are some for it.
    Instant progress_at() const { return std::max(sent_at_, waiting_since_); }
    // Since when the peer has not taken what waits for it; nullopt: nothing does.
    std::optional<Instant> waits_since() const;
    void forgive(Duration pause);

  private:
    enum class Way { open, ended, broken };  // ended: with the closing bytes of TLS

    bool send_gathered();
    bool send_outgoing();
    std::optional<std::size_t> count_sent(ssize_t result);
    void take_off(std::size_t sent);
    void seal(TlsChannel& tls);
    void report_left(std::size_t bytes);

    const int socket_;
    TcpLinkOwner& owner_;
    Way way_ = Way::open;
    int error_ = 0;
    std::size_t head_bytes_ = kFrameHeadBytes;
    std::deque<std::string> pending_;  // frames; the first may be partly written
    std::size_t first_done_ = 0;       // bytes of the first frame that are written, its header included
    std::size_t waiting_bytes_ = 0;    // of all of them, headers included
    std::size_t link_frames_ = 0;      // this many at the front are the link's
    std::string outgoing_;             // ciphertext
    std::size_t outgoing_done_ = 0;
    std::vector<std::size_t> sealed_;  // sizes of the frames that end in it
    Instant sent_at_{};                // when bytes were last written
    Instant waiting_since_{};          // since when data waits to be written
};

}  // namespace wq::net::frames
