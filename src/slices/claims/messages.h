// What those who take slices and the one who gives them say to each other. Takers share the tickets of their
// node (ranks/tickets/ticket_pool.h); positions are those of an order (slices/plan/plan.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/interval_set.h"

namespace wq::slices::claims {

// ---- by takers ----

inline constexpr std::uint32_t no_rank = ~std::uint32_t{0};
// Of these messages: workers may be of another build than the ranks.
inline constexpr std::uint32_t feed_version = 2;

struct Hello {               // first
    std::string node;        // equal for takers that share tickets
    std::uint32_t rank = 0;  // for statistics; no_rank: it is a worker, and gets a number
    bool draws = false;      // by itself, through the counter, from what is sealed
    std::uint32_t version = feed_version;
};
struct Refill {};             // no tickets are left on its node; it asks once, and waits for the answer
struct RefillDone {           // its node has what was granted
    bool gives_back = false;  // its node had others by then, and does not need these
    Interval positions;
};
struct CounterRange {  // its node has these, of what is sealed: it drew them from the counter
    Interval positions;
};
struct SealReply {  // answers SealClosed: the taker has reported all that it drew
    std::uint32_t batch = 0;
};
struct Timed {  // when a position was taken and committed, since 1970
    std::uint64_t position = 0;
    std::int64_t taken_us = 0;
    std::int64_t committed_us = 0;
    bool failed = false;
    bool operator==(const Timed&) const = default;
};
struct Committed {
    std::uint64_t taken = 0;  // so many in all, for statistics
    IntervalSet positions;
    IntervalSet failed;        // of these: their work was in vain
    std::vector<Timed> times;  // of these, or none
};
struct Leaving {};    // it takes no more, and was not lost
struct CensusReply {  // answers Census
    std::uint32_t batch = 0;
    IntervalSet positions;  // that it has
};

struct CommitsReported {  // answers ReportCommits
    std::uint32_t round = 0;
};

struct Question {  // its consumer asks the giver's process for something else, and waits for GiverAnswer
    std::uint64_t number = 0;
    std::string what;
};

// ---- by the giver ----

struct Welcome {              // answers Hello: from now on it may claim, as it will be asked for what it has
    std::uint32_t batch = 0;  // of the tickets on its node: older ones are given elsewhere
    std::uint32_t rank = 0;   // its own, or the next one after the ranks
    bool commits = true;      // no: what is taken counts as done
    bool times = true;        // of commits are wanted
};
struct Granted {  // answers Refill
    Interval positions;
};
struct SealOpened {  // whoever draws may do so from now on, and need not wait for an answer to Refill
    std::uint32_t batch = 0;  // of the counter (ranks/tickets/sealed_batch.h)
    Interval positions;
    std::uint64_t epoch = 0;  // positions; nobody draws more than a small part of one
    std::uint64_t takers = 0;
};
struct SealClosed {  // nobody draws from it any more: what was drawn?
    std::uint32_t batch = 0;
};
struct NodeRefilled {};  // answers Refill: its node has some now
struct NoneLeft {};  // to those that wait: all is given, and only what others lose or give back will be left
struct Ended {       // all are committed: to everybody
    bool lost_some = false;  // takers were lost on the way
};
struct Census {               // to everybody on a node, when one was lost: what has it?
    std::uint32_t batch = 0;  // of the tickets from now on: older ones are given elsewhere
};

struct ReportCommits {  // of everybody: its commits until now, then CommitsReported
    std::uint32_t round = 0;
};
struct Refused {  // answers Hello
    std::string why;
};
struct GiverAnswer {
    std::uint64_t number = 0;
    std::string what;
};

using Message = std::variant<Hello, Refill, RefillDone, Committed, Leaving, CensusReply, Welcome, Granted,
                             NodeRefilled, Ended, Census, ReportCommits, CommitsReported, CounterRange,
                             SealReply, SealOpened, SealClosed, Question, GiverAnswer, Refused, NoneLeft>;

std::string encode(const Message& message);
bool is_answer(std::string_view bytes);  // or garbage that begins like one
// nullopt: no message. Whatever the bytes are, memory is at most some times their size.
std::optional<Message> decode(std::string_view bytes);

}  // namespace wq::slices::claims
