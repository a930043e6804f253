// Messages to one peer, collected into one frame per turn of the loop: a thousand leases cost one send.
// Frames are bounded by what transports accept and by the reader's memory.
#pragma once

#include "base/bytes.h"
#include "net/frames/transport.h"
#include "net/messages/messages.h"

namespace wq::net::session {

class Outbox {
  public:
    Outbox(frames::Transport& transport, frames::PeerId peer) : transport_(&transport), peer_(peer) {}

    static constexpr std::size_t enough = 1u << 20;  // bytes of a frame with more than one message

    void add_message(const messages::Message& message) {
        messages::encode(message, pending_);
        if (pending_.size() >= enough) flush();
    }
    void put_encoded(std::string_view message) {
        pending_.raw(message);
        if (pending_.size() >= enough) flush();
    }
    bool empty() const { return pending_.size() == 0; }
    void flush() {
        if (!empty()) transport_->send(peer_, pending_.take());
        pending_ = {};
    }

  private:
    frames::Transport* transport_;
    frames::PeerId peer_;
    ByteWriter pending_;
};

}  // namespace wq::net::session
