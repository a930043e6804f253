// Messages to one peer, gathered into one frame a turn of the loop: a thousand leases cost one send. A frame
// is bounded all the same, by what wires take and by what its reader has in memory at once.
#pragma once

#include "base/bytes.h"
#include "transport/transport.h"
#include "wire/messages.h"

namespace wq::app {

class Outbox {
  public:
    Outbox(transport::Transport& transport, transport::PeerId peer) : transport_(&transport), peer_(peer) {}

    static constexpr std::size_t enough = 1u << 20;  // bytes of a frame that are not one message's

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
    transport::Transport* transport_;
    transport::PeerId peer_;
    ByteWriter pending_;
};

}  // namespace wq::app
