// The lines of the account to which free cores belong at a moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "views/model/account.h"
#include "views/model/ask_fits.h"
#include "views/model/waiting_asks.h"

namespace wq::views::model {

// Workers with equal shares are one group, so that a change of what waits costs the groups, not the workers.
class FreeCores {
  public:
    FreeCores(AskFits& fits, const WaitingAsks& waiting, std::size_t workers)
        : fits_(fits), waiting_(waiting), workers_(workers) {}

    // The worker's free cores belong to the line, whatever waits.
    void set_line(std::size_t worker, AccountLine line, std::int64_t cores);
    // They belong to the line that follows from what waits.
    void set_share(std::size_t worker, const FreeShare& share);
    // What waits has changed.
    void update();

    // Thousandths of cores in each line.
    const std::array<std::int64_t, account_line_count>& cores() const { return cores_; }

  private:
    struct Group {
        std::int64_t workers = 0;
        std::size_t place = 0;                       // in active_, while it has workers
        AccountLine line = AccountLine::unknown;     // in which its cores are counted
        std::uint64_t ready = 0;                     // WaitingAsks::ready_id()
        AccountLine by_asks = AccountLine::unknown;  // with that
    };
    using Groups = std::map<FreeShare, Group>;
    struct Worker {
        AccountLine line = AccountLine::unknown;
        std::int64_t cores = 0;  // in `line`, if it is in no group
        std::optional<Groups::iterator> group{};
    };

    static constexpr std::size_t most_idle_groups = 4096;  // kept for what they know

    void leave(Worker& worker);
    AccountLine line_of(const FreeShare& share, Group& group);
    std::int64_t& cores_in(AccountLine line) { return cores_[static_cast<std::size_t>(line)]; }

    AskFits& fits_;
    const WaitingAsks& waiting_;
    std::vector<Worker> workers_;
    Groups groups_;
    std::vector<Groups::iterator> active_;  // groups with workers
    std::array<std::int64_t, account_line_count> cores_{};
};

}  // namespace wq::views::model
