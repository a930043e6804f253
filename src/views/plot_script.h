// A gnuplot 5 script that draws figures into files: PREFIX.tasks.png, PREFIX.workers.png and so on. Figures
// that do not show the time come last.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "views/plot_figures.h"

namespace wq::views {

enum class PlotFormat { png, svg, pdf };

struct PlotStyle {
    std::string prefix;  // of the files
    PlotFormat format = PlotFormat::png;
    std::string caption;             // names the run next to each title; may be empty
    std::optional<PlotRange> range;  // of the time axis
    bool log = false;                // also draw on a logarithmic scale what shows the time
    std::string file{};              // of the only figure, instead of one by the prefix
};

const char* name_of(PlotFormat format);  // "png"
std::string plot_path(const PlotStyle& style, const Figure& figure, Scale scale);
std::vector<std::string> plot_paths(const PlotStyle& style, const Plots& plots);
std::string plot_script(const PlotStyle& style, const Plots& plots);

}  // namespace wq::views
