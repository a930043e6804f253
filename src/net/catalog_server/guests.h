// The connections of strangers. A guest is silent as long as the server waits for it: until it has said all
// that it wants, and again once it has all of its answer. Everybody may come in. If there are too many silent
// guests, answers or bytes, the guest that has been inactive for longest is disconnected; if one address has
// more than half of them, a guest of this address.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/time.h"

namespace wq::net::catalog_server {

struct GuestCounts {
    std::size_t silent = 0, answered = 0;
    std::size_t bytes = 0;  // of memory that waits for them
};

// What a guest of this address shares with others of the same machine.
std::string neighbours_of(const std::string& address);

struct Guest {
    virtual ~Guest() = default;
    virtual void leave() = 0;  // closes its connection
    std::string address;

    // Set by Guests.
    std::string neighbours;  // its address, or the /64 of an IPv6 address: one machine has all of that
    bool inside = false;
    std::list<std::shared_ptr<Guest>>::iterator place{};
    GuestCounts counts;  // it alone
    Instant deadline{};
};

class Guests {
  public:
    explicit Guests(GuestCounts most) : most_(most) {}

    // A silent one.
    void add(const std::shared_ptr<Guest>& guest, Instant deadline);
    void remove(Guest& guest);
    // `guest` has done a step, has until `deadline` for the next, and holds so many bytes.
    void is_silent(Guest& guest, Instant deadline, std::size_t bytes);
    void is_answered(Guest& guest, Instant deadline, std::size_t bytes);
    // Those whose time is over leave.
    void sweep(Instant now);
    std::size_t size() const { return by_age_.size(); }
    std::size_t bytes() const { return all_.bytes; }

  private:
    void step(Guest& guest, GuestCounts counts, Instant deadline);
    void count(Guest& guest, GuestCounts counts);
    void make_room(std::size_t GuestCounts::*what);
    void dismiss(std::shared_ptr<Guest> guest);

    GuestCounts most_, all_;
    std::unordered_map<std::string, GuestCounts> of_neighbours_;
    std::list<std::shared_ptr<Guest>> by_age_;  // of their last steps
};

}  // namespace wq::net::catalog_server
