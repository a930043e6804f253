// Messages to one peer, collected into one frame per turn of the loop: a thousand leases cost one send.
// Frames are bounded by what transports accept and by the reader's memory.
#pragma once

#include "base/bytes.h"
#include "net/frames/transport.h"
#include "net/messages/messages.h"

namespace wq::session {

class Outbox {
  public:
    Outbox(net::Transport& transport, net::PeerId peer) : transport_(&transport), peer_(peer) {}

    static constexpr std::size_t enough = 1u << 20;  // bytes of a frame with more than one message

    void put(const wire::Message& message) {
        wire::encode(message, pending_);
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
    net::Transport* transport_;
    net::PeerId peer_;
    ByteWriter pending_;
};

}  // namespace wq::session
