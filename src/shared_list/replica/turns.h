// Turns, for workers that others starve. A change is refused if the log has grown since its worker looked, so
// a worker with a longer way to the master could be refused for ever. It asks for a turn by a line
// `TURN NAME` in the log, which is never refused. All others see that line before they can change anything,
// and hold their changes back until the worker has made one, for at most a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/time.h"

namespace wq::shared_list::replica {

// The turns that were asked for in one log.
class Turns {
  public:
    void asked(std::string_view name);
    // A record with this token, "NAME.NUMBER", was appended: its sender has waited for those before it.
    void made(std::string_view token);
    // How many come before `name`, which has asked or not.
    std::size_t before(std::string_view name) const;
    // Counts all turns; of the one that comes next.
    std::uint64_t first() const { return first_; }

  private:
    std::deque<std::string> names_;
    std::uint64_t first_ = 0;
};

// The tries of one change.
class Tries {
  public:
    explicit Tries(Instant begun) : since_(begun) {}

    // Others were faster. Returns whether a turn is to be asked for.
    bool refused(Instant now);
    // Turns did not help.
    bool are_vain() const { return turns_ > 3; }

  private:
    Instant since_;
    int refused_ = 0;  // since then
    int turns_ = 0;
};

// Others wait so long for one that has asked for a turn.
inline constexpr Duration longest_turn = std::chrono::seconds(1);

}  // namespace wq::shared_list::replica
