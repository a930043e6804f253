// work_queue_graph_workers: shows when each worker ran which tasks.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/shortage.h"
#include "programs/run/graph_options.h"
#include "programs/run/plots.h"
#include "records/journal/append_file.h"
#include "views/attempts_figure.h"
#include "views/plot_script.h"
#include "views/stats_attempts.h"
#include "views/web/attempts_page.h"

namespace {

using namespace wq;

// Of a file that takes seconds, for whoever waits for it.
void print_long_reading(const std::string& path) {
    constexpr std::uintmax_t long_work = 256U << 20;
    std::error_code unknown;
    const std::uintmax_t size = std::filesystem::file_size(path, unknown);
    if (!unknown && size > long_work && ::isatty(STDERR_FILENO) == 1)
        std::fprintf(stderr, "work_queue_graph_workers: reading %s (%ju MB)\n", path.c_str(), size >> 20);
}

Status draw_picture(const programs::run::GraphWorkersOptions& options, const views::AttemptsFile& source,
                    const std::string& output) {
    views::Plots plots;
    plots.figures.push_back(
        views::attempts_figure(source.attempts, options.order, source.attempts.begin, {}, {}));
    const views::PlotStyle style{"", views::PlotFormat::png, source.title, {}, false, output};
    return programs::run::draw_with_gnuplot(options.gnuplot, style, plots);
}

Status write_page(const programs::run::GraphWorkersOptions& options, const views::AttemptsFile& source,
                  const std::string& output) {
    const std::string page = views::web::attempts_page(source.attempts, source.title, options.order);
    const auto written = records::journal::write_atomically(output, page, records::journal::Sync::never);
    if (written) return success();
    const bool forbidden = written.error().code == ExitCode::not_allowed;
    return Error{forbidden ? ExitCode::not_allowed : ExitCode::usage,
                 written.error().message + "; choose another place with -o"};
}

Status run(const programs::run::GraphWorkersOptions& options) {
    print_long_reading(options.log);
    const auto source = views::read_source(options.log);
    if (!source) return source.error();
    const std::string output =
        !options.output.empty() ? options.output : source->path + (options.png ? ".png" : ".html");
    auto done = options.png ? draw_picture(options, *source, output) : write_page(options, *source, output);
    if (done) std::printf("%s\n", output.c_str());
    return done;
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = programs::run::parse_graph_workers_options(argc, argv);
    Status done = options.ok() ? success() : Status(options.error());
    if (options.ok() && options->help) {
        std::fputs(programs::run::graph_workers_help().c_str(), stdout);
    } else if (options.ok() && options->version) {
        std::puts("work_queue_graph_workers " WQ_VERSION);
    } else if (options.ok()) {
        done = run(*options);
    }
    if (done) return after_output("work_queue_graph_workers", 0);
    std::fprintf(stderr, "work_queue_graph_workers: %s\n", done.error().message.c_str());
    return to_int(done.error().code);
}
