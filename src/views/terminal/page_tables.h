// The tables of the pages: what their rows say.
#pragma once

#include "views/terminal/pages.h"
#include "views/terminal/table.h"

namespace wq::views::terminal {

// Of the current page; the overview has none. `shown` must live as long as the table.
Table table_of(const Shown& shown, Glyphs glyphs);

}  // namespace wq::views::terminal
