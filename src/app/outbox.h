// Messages to one peer, gathered into one frame a turn of the loop: a thousand leases cost one send.
#pragma once

#include "base/bytes.h"
#include "transport/transport.h"
#include "wire/messages.h"

namespace wq::app {

class Outbox {
  public:
    Outbox(transport::Transport& transport, transport::PeerId peer) : transport_(&transport), peer_(peer) {}

    void put(const wire::Message& message) { wire::encode(message, pending_); }
    void put_encoded(std::string_view message) { pending_.raw(message); }
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
