// work_queue_graph_log: draws the statistics of a run.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/shortage.h"
#include "cli/graph_log_gnuplot.h"
#include "cli/graph_log_options.h"
#include "records/append_file.h"
#include "stats/h5_open.h"
#include "stats/plot_script.h"
#include "stats/slice_figures.h"
#include "stats/stats_log.h"
#include "stats/stats_reader.h"
#include "stats/task_figures.h"

namespace {

using namespace wq;

struct Statistics {
    std::vector<stats::ManagerRow> rows;  // none: of a SliceQueue
    std::vector<stats::SliceQueueRow> slice_queue;
    std::vector<stats::SliceRankRow> slice_ranks;
    std::string caption;
    std::vector<stats::Figure> figures;  // of tasks and nodes; only in stats.h5
};

Result<Statistics> read_statistics(const std::string& path) {
    const std::string name = std::filesystem::path(path).filename().string();
    if (!stats::is_hdf5(path)) {
        const auto text = records::read_whole(path);
        if (!text) return text.error();
        auto rows = stats::read_stats_log(*text, path);
        if (!rows) return rows.error();
        return Statistics{std::move(*rows), {}, {}, name, {}};
    }
    const auto reader = stats::StatsReader::open(path);
    if (!reader) return reader.error();
    auto rows = reader->manager();
    if (!rows) return rows.error();
    if (auto slices = reader->slice_queue(); rows->empty() && slices && !slices->empty()) {
        auto ranks = reader->slice_ranks();
        if (!ranks) return ranks.error();
        return Statistics{{}, std::move(*slices), std::move(*ranks), reader->attribute("name"), {}};
    }
    auto workers = reader->workers();
    if (!workers) return workers.error();
    stats::TaskFigures tasks(std::move(*workers), *rows);
    if (auto read = reader->each_task([&](const stats::TaskRow& task) { tasks.add(task); }); !read)
        return read.error();
    const std::string list = reader->attribute("list");
    // Show only the file name of a path; other names, such as --array 1-9, are short.
    const std::string shown = list.starts_with("--") ? list : std::filesystem::path(list).filename().string();
    return Statistics{std::move(*rows), {}, {}, shown.empty() ? name : shown, tasks.figures()};
}

// Check first, because gnuplot's error for a file that cannot be created has neither file nor reason.
Status check_writable(const stats::PlotStyle& style, const stats::Plots& plots) {
    for (const std::string& path : stats::plot_paths(style, plots)) {
        const bool existed = ::access(path.c_str(), F_OK) == 0;
        const auto file = records::AppendFile::open(path);
        if (!file) {
            const bool forbidden = file.error().code == ExitCode::not_allowed;
            return Error{forbidden ? ExitCode::not_allowed : ExitCode::usage,
                         file.error().message + "; choose another place with -o"};
        }
        if (!existed) ::unlink(path.c_str());
    }
    return success();
}

Status draw(const cli::GraphLogOptions& options) {
    auto statistics = read_statistics(options.log);
    if (!statistics) return statistics.error();
    const bool of_slices = !statistics->slice_queue.empty();
    if (statistics->rows.empty() && !of_slices) {
        return Error{ExitCode::bad_input,
                     options.log + ": no samples yet; a run takes one about every second"};
    }
    stats::Plots plots = of_slices ? stats::make_slice_plots(statistics->slice_queue, statistics->slice_ranks,
                                                             options.unit, options.range)
                                   : stats::make_plots(statistics->rows, options.unit, options.range);
    if (plots.x.empty()) {
        return Error{ExitCode::bad_input, options.log + ": no samples in the range of -r (in " +
                                              stats::name_of(plots.unit) + " since the start)"};
    }
    if (!options.range)  // of the time
        plots.figures.insert(plots.figures.end(), statistics->figures.begin(), statistics->figures.end());
    if (options.skip_empty) stats::drop_empty_figures(plots);
    const stats::PlotStyle style{options.prefix, options.format, statistics->caption, options.range,
                                 options.log_scale};
    const std::string script = stats::plot_script(style, plots);
    if (options.script_only) {
        std::fputs(script.c_str(), stdout);
        return success();
    }
    if (auto checked = check_writable(style, plots); !checked) return checked;
    if (auto ran = cli::run_gnuplot(options.gnuplot, script); !ran) return ran;
    for (const std::string& path : stats::plot_paths(style, plots)) std::printf("%s\n", path.c_str());
    return success();
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = cli::parse_graph_log_options(argc, argv);
    Status done = options.ok() ? success() : Status(options.error());
    if (options.ok() && options->help) {
        std::fputs(cli::graph_log_help().c_str(), stdout);
    } else if (options.ok() && options->version) {
        std::puts("work_queue_graph_log " WQ_VERSION);
    } else if (options.ok()) {
        done = draw(*options);
    }
    if (done) return after_output("work_queue_graph_log", 0);
    std::fprintf(stderr, "work_queue_graph_log: %s\n", done.error().message.c_str());
    return to_int(done.error().code);
}
