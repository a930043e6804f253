// work_queue_graph_log: draws the statistics of a run.
#include <cstdio>
#include <filesystem>

#include "base/shortage.h"
#include "programs/run/graph_options.h"
#include "programs/run/plots.h"
#include "records/hdf5/h5_reader.h"
#include "records/hdf5/stats_log.h"
#include "records/journal/append_file.h"
#include "views/attempts_figure.h"
#include "views/plot_script.h"
#include "views/run_figures.h"
#include "views/stats_attempts.h"

namespace {

using namespace wq;

struct Statistics {
    std::vector<records::hdf5::ManagerRow> rows;  // none: of a SliceQueue
    std::vector<records::hdf5::SliceQueueRow> slice_queue;
    std::vector<records::hdf5::SliceRankRow> slice_ranks;
    std::string caption;
    std::vector<views::Figure> figures;  // of tasks and nodes; only in stats.h5, as the next
    views::Attempts attempts;
};

Result<Statistics> read_statistics(const std::string& path) {
    const std::string name = std::filesystem::path(path).filename().string();
    if (!records::hdf5::is_hdf5(path)) {
        const auto text = records::journal::read_whole(path);
        if (!text) return text.error();
        auto rows = records::hdf5::read_stats_log(*text, path);
        if (!rows) return rows.error();
        return Statistics{std::move(*rows), {}, {}, name, {}, {}};
    }
    const auto reader = records::hdf5::StatsReader::open(path);
    if (!reader) return reader.error();
    auto rows = reader->manager();
    if (!rows) return rows.error();
    if (auto slices = reader->slice_queue(); rows->empty() && slices && !slices->empty()) {
        auto ranks = reader->slice_ranks();
        if (!ranks) return ranks.error();
        return Statistics{{}, std::move(*slices), std::move(*ranks), reader->attribute("name"), {}, {}};
    }
    auto workers = reader->workers();
    if (!workers) return workers.error();
    const auto categories = reader->categories();  // old files have none
    views::TaskFigures tasks(views::WorkerRows(std::move(*workers), *rows),
                             categories ? *categories : std::vector<records::hdf5::CategoryRow>());
    if (auto read = reader->each_task([&](const records::hdf5::TaskRow& task) { tasks.add(task); }); !read)
        return read.error();
    auto attempts = views::read_stats(*reader);
    if (!attempts) return attempts.error();
    return Statistics{std::move(*rows),    {}, {}, views::title_of(*reader, path), tasks.figures(),
                      std::move(*attempts)};
}

Status draw(const programs::run::GraphLogOptions& options) {
    auto statistics = read_statistics(options.log);
    if (!statistics) return statistics.error();
    const bool of_slices = !statistics->slice_queue.empty();
    if (statistics->rows.empty() && !of_slices) {
        return Error{ExitCode::bad_input,
                     options.log + ": no samples yet; a run takes one about every second"};
    }
    views::Plots plots = of_slices ? views::make_slice_plots(statistics->slice_queue, statistics->slice_ranks,
                                                             options.unit, options.range)
                                   : views::make_plots(statistics->rows, options.unit, options.range);
    if (plots.x.empty()) {
        return Error{ExitCode::bad_input, options.log + ": no samples in the range of -r (in " +
                                              views::name_of(plots.unit) + " since the start)"};
    }
    if (!statistics->attempts.attempts.empty())
        plots.figures.push_back(views::attempts_figure(statistics->attempts, views::RowOrder::attempts,
                                                       views::start_of(statistics->rows), plots.unit,
                                                       options.range));
    if (!options.range)  // of the time
        plots.figures.insert(plots.figures.end(), statistics->figures.begin(), statistics->figures.end());
    if (options.skip_empty) views::drop_empty_figures(plots);
    const views::PlotStyle style{options.prefix, options.format, statistics->caption, options.range,
                                 options.log_scale};
    if (options.script_only) {
        std::fputs(views::plot_script(style, plots).c_str(), stdout);
        return success();
    }
    if (auto drawn = programs::run::draw_with_gnuplot(options.gnuplot, style, plots); !drawn) return drawn;
    for (const std::string& path : views::plot_paths(style, plots)) std::printf("%s\n", path.c_str());
    return success();
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = programs::run::parse_graph_log_options(argc, argv);
    Status done = options.ok() ? success() : Status(options.error());
    if (options.ok() && options->help) {
        std::fputs(programs::run::graph_log_help().c_str(), stdout);
    } else if (options.ok() && options->version) {
        std::puts("work_queue_graph_log " WQ_VERSION);
    } else if (options.ok()) {
        done = draw(*options);
    }
    if (done) return after_output("work_queue_graph_log", 0);
    std::fprintf(stderr, "work_queue_graph_log: %s\n", done.error().message.c_str());
    return to_int(done.error().code);
}
