// The TCP workers as their manager knows them. A session survives reconnections: the worker returns with its
// identity and its token and keeps its number. Its answers are numbered, so that none is counted twice or
// missed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"
#include "net/messages/messages.h"
#include "records/journal/records.h"

namespace wq::net::session {

struct Session {
    std::string identity;
    std::string token;
    records::journal::WorkerRecord record;
    std::uint64_t answers = 0;        // received since it first joined
    std::uint64_t acknowledged = 0;   // of these, those acknowledged
    Duration disconnect_limit{0};     // it must reconnect within this time; 0: it is lost at once
    bool confirmed = false;           // it has sent something since its Welcome, so it has the token
    bool relayed = true;              // something between us may close its connection
    bool keeps = false;               // after the connection is closed, its tasks may still run
    std::int64_t clock_ahead_us = 0;  // its wall clock minus ours
};

class SessionTable {
  public:
    // What a hello means for this table.
    enum class Claim {
        first,  // the identity is new
        comes_back,
        anew,   // the known worker of this identity never got our Welcome: it is gone and ran nothing
        taken,  // another worker has this identity
    };
    Claim judge(const messages::Hello& hello) const;

    // Numbers are unique, also among ranks.
    void keep_number(WorkerId of_a_rank);
    WorkerId next_number() { return WorkerId(next_number_++); }

    // Valid until close().
    Session& open(std::string identity, records::journal::WorkerRecord record);
    void close(WorkerId worker);
    Session* find(const std::string& identity);
    Session* find(WorkerId worker);
    const Session* find(WorkerId worker) const;

  private:
    std::map<std::string, Session> sessions_;
    std::unordered_map<WorkerId, std::string> identities_;
    std::uint32_t next_number_ = 1;
};

// Why a TCP worker's hello is invalid; nullopt: it is valid. Its fields end up in logs and sums.
std::optional<std::string> nonsense_in(const messages::Hello& hello);

// Limits what a peer reports of an end to what sums and logs can hold.
void make_plausible(engine::model::Outcome& outcome);

// A value that $OS or $ARCH may have: it becomes a part of paths.
bool is_platform(std::string_view name);

std::string random_token();  // 128 bits in hex

// The timeouts of a disconnected TCP worker. They guarantee that the worker has killed its tasks before the
// manager gives them to others. All count from when the worker last heard the manager: that is earlier than
// the manager can notice anything, whichever side detects the disconnection first.

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
