// The timeouts of a disconnected TCP worker. They guarantee that the worker has killed its tasks before the
// manager gives them to others. All count from when the worker last heard the manager: that is earlier than
// the manager can notice anything, whichever side detects the disconnection first.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace wq::net::session {

// Below this, load on the machine alone could make a worker miss its manager.
inline constexpr Duration shortest_disconnect_limit = std::chrono::seconds(10);

// 0: the manager waits for nobody; a disconnected worker may still run tasks that were given to others.
constexpr bool sound_disconnect_limit(Duration disconnect_limit) {
    return disconnect_limit == Duration{0} || disconnect_limit >= shortest_disconnect_limit;
}

// A worker that closes a connection and lives says so before (messages::Keeps). If it says nothing, and
// nothing relays the connection, its process has ended: then its launcher ends its tasks within 8 s, or their
// zygote within another 5 s; and 2 s are for a loaded machine.
constexpr Duration disconnect_limit_if_closed(Duration disconnect_limit) {
    return std::min<Duration>(disconnect_limit, std::chrono::seconds(15));
}

// How long a worker keeps its tasks after it last heard the manager: the limit less a second to kill them,
// and another one for frames in flight when the manager gave it up.
constexpr Duration grace_of(Duration disconnect_limit) {
    return disconnect_limit - std::min<Duration>(disconnect_limit / 4, std::chrono::seconds(2));
}

// After this silence the worker treats its connection as dead: the rest of the grace is for reconnecting. The
// manager sends at least every second.
constexpr Duration silence_of(Duration grace) {
    return std::min<Duration>(grace / 4 * 3, std::chrono::seconds(15));
}

}  // namespace wq::net::session
