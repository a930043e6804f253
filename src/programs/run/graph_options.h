// The command lines of work_queue_graph_log and work_queue_graph_workers.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "views/attempts.h"
#include "views/plot_script.h"

namespace wq::programs::run {

struct GraphLogOptions {
    std::string log;     // stats.h5 or a text statistics log
    std::string prefix;  // of the plots; default: the log's name
    std::string gnuplot = "gnuplot";
    views::PlotFormat format = views::PlotFormat::png;
    std::optional<views::PlotRange> range;
    std::optional<views::TimeUnit> unit;
    bool help = false;
    bool version = false;
    bool log_scale = false;    // plots over time also on a logarithmic scale
    bool skip_empty = false;   // omit empty plots
    bool script_only = false;  // only print the script
};

// Error (usage) in one line.
Result<GraphLogOptions> parse_graph_log_options(int argc, const char* const* argv);
std::string graph_log_help();

struct GraphWorkersOptions {
    std::string log;     // a run directory, stats.h5 or transactions log
    std::string output;  // empty: LOG.html or LOG.png
    std::string gnuplot = "gnuplot";
    views::RowOrder order = views::RowOrder::attempts;
    bool png = false;
    bool help = false;
    bool version = false;
};

// Error (usage) in one line.
Result<GraphWorkersOptions> parse_graph_workers_options(int argc, const char* const* argv);
std::string graph_workers_help();

}  // namespace wq::programs::run
