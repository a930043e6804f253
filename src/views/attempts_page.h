// One HTML file that shows attempts as bars over time, with zoom and pan. It refers to nothing outside of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "views/attempts.h"

namespace wq::views {

// What a row is: an attempt, a slot of a worker, or a worker. The letters are the options of
// work_queue_graph_workers.
enum class RowOrder : char { attempts = 'g', slots = 't', workers = 'w' };

// "#rrggbb" for colour-blind readers; of many categories, some have the same colour.
std::string category_color(std::size_t category);

std::string attempts_page(const Attempts& all, const std::string& title, RowOrder shown_first);

// timeline.js with attempts.js, and attempts.css.
extern const std::string_view attempts_script;
extern const std::string_view attempts_style;

}  // namespace wq::views
