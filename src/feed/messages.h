// What those who take slices and the one who gives them say to each other. Takers share the tickets of their
// node (tickets/ticket_pool.h); positions are those of an order (slices/order.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/interval_set.h"

namespace wq::feed {

// ---- by takers ----

struct Hello {         // first
    std::string node;  // equal for takers that share tickets
};
struct Draw {};           // no tickets are left on its node; it asks once, and waits for the answer
struct Filled {           // its node has what was granted
    bool unused = false;  // no: it had others by then, and `positions` are given back
    Interval positions;
};
struct Committed {
    IntervalSet positions;
};
struct Leaving {};  // it takes no more, and was not lost
struct Present {    // answers Count
    std::uint64_t count = 0;
    std::uint32_t fill = 0;  // of the node's tickets: answers of one fill fit together
    IntervalSet positions;   // that it has, and that are unclaimed on its node
};

// ---- by the giver ----

struct Welcome {  // answers Hello: from now on it may claim, as it will be asked for what it has
    // Tickets of another batch that it finds on its node are of takers that are all lost, and are given
    // elsewhere.
    std::uint32_t batch = 0;
};
struct Granted {  // answers Draw
    Interval positions;
};
struct Look {};              // answers Draw: its node has some now
struct Ended {               // all are committed: to everybody
    bool lost_some = false;  // takers were lost on the way
};
struct Count {  // of everybody on a node, when one was lost
    std::uint64_t count = 0;
};

using Message =
    std::variant<Hello, Draw, Filled, Committed, Leaving, Present, Welcome, Granted, Look, Ended, Count>;

std::string encode(const Message& message);
// nullopt: no message. Whatever the bytes are, memory is at most some times their size.
std::optional<Message> decode(std::string_view bytes);

}  // namespace wq::feed
