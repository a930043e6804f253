// A taker, as the giver reaches it.
#pragma once

#include <compare>

#include "net/frames/transport.h"
#include "slices/claims/messages.h"

namespace wq::slices::claims {

struct Address {
    net::frames::Transport* line;
    net::frames::PeerId peer;
    auto operator<=>(const Address&) const = default;
    void send(const Message& message) const { line->send(peer, encode(message)); }
};

}  // namespace wq::slices::claims
