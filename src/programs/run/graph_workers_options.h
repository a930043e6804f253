// The command line of work_queue_graph_workers.
#pragma once

#include <string>

#include "base/result.h"
#include "views/attempts_page.h"

namespace wq::programs::run {

struct GraphWorkersOptions {
    std::string log;     // a run directory, stats.h5 or transactions log
    std::string output;  // empty: LOG.html or LOG.png
    std::string gnuplot = "gnuplot";
    views::Order order = views::Order::attempts;
    bool png = false;
    bool help = false;
    bool version = false;
};

// Error (usage) in one line.
Result<GraphWorkersOptions> parse_graph_workers_options(int argc, const char* const* argv);
std::string graph_workers_help();

}  // namespace wq::programs::run
