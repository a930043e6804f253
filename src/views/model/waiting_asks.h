// What waits at a moment of a run, and why: from attempts, which say it to the microsecond, and from the rows
// of RunView::waiting, which are samples but know tasks that never ran.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"
#include "engine/model/waiting.h"
#include "views/model/account.h"
#include "views/model/run_view.h"

namespace wq::views::model {

class WaitingAsks {
  public:
    // Asks are meant by their places in RunView::asks; the place after the last is that of all others.
    explicit WaitingAsks(const RunView& run);

    // Of attempts: `by` is 1 or -1.
    void block(bool is_retry, int by) { blocked_[is_retry ? 1 : 0] += by; }
    void be_ready(std::uint32_t ask, int by);
    void be_dispatched(int by) { dispatched_ += by; }

    void take(const RunWaiting& row);
    // The rows in force were true at this time, too. `is_connected`: a worker is.
    void sample(bool is_connected);
    // The manager's life begins: it has said nothing yet.
    void begin_session();

    // After all changes of one moment. Whether ready(), ready_id() or line_of_all() changed.
    bool settle(WallMicros now);

    const std::set<std::uint32_t>& ready() const { return ready_; }  // asks with tasks that could run
    // Equal sets have equal ids, and (but for one in 2^64) only these; never 0.
    std::uint64_t ready_id() const { return ready_id_; }
    // To which all free cores of workers that take tasks belong; nullopt: it depends on what is ready.
    const std::optional<AccountLine>& line_of_all() const { return line_; }

  private:
    using Reason = engine::model::WaitReason;
    struct AskState {
        std::int64_t attempts = 0;   // ready, by their times
        std::int64_t never_ran = 0;  // further ones, by the last row
        std::array<std::int64_t, engine::model::wait_reason_count> rows{};
        bool is_changed = false;  // rows
        bool is_marked = false;   // in changed_
    };

    std::uint32_t place_of(std::uint32_t ask) const;
    void mark(std::uint32_t place);
    void update(AskState& state, std::uint32_t place);
    std::optional<AccountLine> line(WallMicros now) const;
    std::int64_t tasks(Reason reason) const { return by_reason_[static_cast<std::size_t>(reason)]; }

    std::vector<AskState> asks_;
    std::vector<std::uint32_t> changed_;
    std::array<std::int64_t, engine::model::wait_reason_count> by_reason_{};
    std::array<std::int64_t, 2> blocked_{};  // first attempts, retries
    std::int64_t blocked_never_ran_ = 0;     // further ones, by the last rows
    bool blocked_changed_ = false;           // by rows
    std::int64_t waiting_ = 0;               // attempts and tasks of all asks, limited ones too
    std::int64_t dispatched_ = 0;
    bool is_recorded_ = false;
    bool is_held_back_ = false;  // though a worker is connected
    WallMicros last_submitted_ = 0;
    WallMicros last_end_ = 0;
    std::set<std::uint32_t> ready_;
    std::uint64_t ready_id_ = 1;
    std::optional<AccountLine> line_ = AccountLine::unknown;
};

}  // namespace wq::views::model
