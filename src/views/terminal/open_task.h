// A task in full: its attempts, their times, resources and endings, as lines.
#pragma once

#include <string>
#include <vector>

#include "views/terminal/frame.h"
#include "views/terminal/run_moment.h"

namespace wq::views::terminal {

struct TextLine {
    std::string text;
    Style style{};
};

std::vector<TextLine> lines_of_task(const model::RunView& run, const RunMoment& moment, std::uint64_t task);

}  // namespace wq::views::terminal
