// The overview of a run: counts, hosts and the last failures.
#pragma once

#include "views/terminal/frame.h"
#include "views/terminal/pages.h"

namespace wq::views::terminal {

// Draws into the rows from `row` on, at most `rows`.
void draw_overview(Frame& frame, int row, int rows, const Shown& shown);

// How many rows show all hosts in full, and the last failures.
int rows_of_overview(const Shown& shown);

}  // namespace wq::views::terminal
