// A taker, as the giver reaches it.
#pragma once

#include <compare>

#include "slices/claims/messages.h"
#include "net/frames/transport.h"

namespace wq::feed {

struct Address {
    net::Transport* line;
    net::PeerId peer;
    auto operator<=>(const Address&) const = default;
    void send(const Message& message) const { line->send(peer, encode(message)); }
};

}  // namespace wq::feed
