// The pages of the full-screen view, as pure functions: what is known of a run and what its user looks at
// make a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "views/model/account.h"
#include "views/terminal/frame.h"
#include "views/terminal/run_moment.h"
#include "views/terminal/watch_state.h"

namespace wq::views::terminal {

inline constexpr Size smallest_screen{80, 24};

// The source of the run cannot be read any more.
struct Silence {
    WallMicros since = 0;  // 0: it can
    std::string why;
};

struct Shown {
    const model::RunView& run;
    const model::Account& account;  // of the whole run
    const RunMoment& moment;
    const WatchState& state;
    const std::vector<std::uint32_t>& order;  // ordered_rows()
    const Silence& silence;
    WallMicros now = 0;
};

struct Drawn {
    Frame frame;
    std::size_t formatted = 0;  // rows of a table
};
Drawn draw_page(const Shown& shown, Size size, Glyphs glyphs);

// How many rows of the page's table, or lines of an open task, such a screen shows.
std::size_t visible_rows(const WatchState& state, Size size);

// The overview without the rows for a user, as lines; for those who have no terminal.
std::string overview_text(const Shown& shown, int columns, Glyphs glyphs);

}  // namespace wq::views::terminal
