// The connections of strangers: each has a time by which it must have done its next step, and all share a
// number of connections and of bytes. When these are used up, the one that has done nothing for longest
// leaves.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "base/time.h"

namespace wq::catalog_server {

inline constexpr Duration patience_with_readers = std::chrono::seconds(2);

struct Guest {
    virtual ~Guest() = default;
    virtual void leave() = 0;  // closes its connection
    std::string address;
    Instant deadline{};
    Instant progressed{};  // when it did its last step
    // So long after it, it leaves if others wait: one that has not said what it wants soon, as that comes
    // with the connection.
    Duration patience = std::chrono::milliseconds(500);
    std::size_t held = 0;  // bytes of memory
};

class Guests {
  public:
    Guests(std::size_t most, std::size_t most_bytes) : most_(most), most_bytes_(most_bytes) {}

    // Whether there is room for one more, perhaps after another has left that did nothing for its patience:
    // one of the address that has most of these.
    bool has_room(Instant now);
    void add(std::shared_ptr<Guest> guest);
    void remove(const std::shared_ptr<Guest>& guest);
    // `guest` has done a step, has until `deadline` for the next, and holds so many bytes.
    void step(Guest& guest, Instant now, Instant deadline, std::size_t held);
    // Those whose time is over leave.
    void sweep(Instant now);
    std::size_t size() const { return all_.size(); }
    std::size_t bytes() const { return bytes_; }

  private:
    std::size_t most_, most_bytes_;
    std::size_t bytes_ = 0;
    std::unordered_set<std::shared_ptr<Guest>> all_;
};

}  // namespace wq::catalog_server
