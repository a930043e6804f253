// One HTML file that shows attempts as bars over time, with zoom and pan. It refers to nothing outside of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "views/attempts.h"

namespace wq::views::web {

std::string attempts_page(const Attempts& all, const std::string& title, RowOrder shown_first);

// timeline.js, columns.js and attempts.js, and attempts.css.
extern const std::string_view attempts_script;
extern const std::string_view attempts_style;
// The hash of the script, by which its Content-Security-Policy allows it: nothing else runs.
extern const std::string_view attempts_script_source;

}  // namespace wq::views::web
