// work_queue_report: what a run did with its core time, what failed, what was slow, and what to change.
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/shortage.h"
#include "base/units.h"
#include "programs/status/report_options.h"
#include "records/journal/append_file.h"
#include "records/journal/joblog.h"
#include "records/journal/output_log.h"
#include "views/model/account.h"
#include "views/model/stats_run.h"
#include "views/report/comparison.h"
#include "views/report/csv_files.h"
#include "views/report/json_report.h"
#include "views/report/text_report.h"
#include "views/report/trace_file.h"
#include "views/web/report_page.h"

namespace {

using namespace wq;
using programs::status::ReportOptions;
using views::report::ReportedRun;

// The last lines, whole ones as far as they are short.
std::string end_of(const std::string& text) {
    constexpr std::size_t most = 2000;
    if (text.size() <= most) return text;
    const std::size_t begin = text.find('\n', text.size() - most - 1);
    return text.substr(begin >= text.size() - 1 ? text.size() - most : begin + 1);
}

// What output.log and joblog.tsv beside the statistics have of attempts.
views::report::AttemptTexts texts_in(const std::string& path, const ReportOptions& options) {
    std::error_code unknown;
    const std::filesystem::path read(path);
    const std::string directory =
        (std::filesystem::is_directory(read, unknown) ? read : read.parent_path() / ".").string();
    views::report::AttemptTexts texts;
    if (!options.no_output)
        texts.stderr_end = [directory](const views::model::RunAttempt& attempt) {
            if (attempt.task == 0) return std::string();
            const auto output = records::journal::read_task_output(directory, TaskId(attempt.task - 1));
            return output && output->attempt == attempt.attempt ? end_of(output->err) : std::string();
        };
    if (!options.no_commands) {
        const auto joblog = std::make_shared<records::journal::JoblogCommands>(directory + "/joblog.tsv");
        texts.command = [joblog](const views::model::RunAttempt& attempt) {
            constexpr std::size_t most = 500;
            return std::string(joblog->command_of(attempt.task).substr(0, most));
        };
    }
    return texts;
}

Result<ReportedRun> read(const ReportOptions& options, const std::string& path) {
    auto run = views::model::read_run(path);
    if (!run) return run.error();
    auto figures = views::report::figures_of(*run, texts_in(path, options));
    const auto account = views::model::account_of(*run);
    return ReportedRun{std::move(*run), std::move(figures), account};
}

Status writing_failed(const Error& error, const char* option) {
    const bool forbidden = error.code == ExitCode::not_allowed;
    return Error{forbidden ? ExitCode::not_allowed : ExitCode::usage,
                 error.message + "; choose another place with " + option};
}

Status write_csv(const ReportOptions& options, const ReportedRun& reported) {
    const auto paths = views::report::write_csv_files(options.output, reported);
    if (!paths) return writing_failed(paths.error(), "--csv");
    for (const std::string& path : *paths) std::printf("%s\n", path.c_str());
    return success();
}

Status write_trace(const ReportOptions& options, const ReportedRun& reported) {
    const Status written = views::report::write_trace(options.output, reported.run);
    if (!written) return writing_failed(written.error(), "--trace");
    std::printf("%s\n", options.output.c_str());
    return success();
}

// Beside what was read.
std::string place_of_page(const ReportOptions& options) {
    if (!options.output.empty()) return options.output;
    std::error_code unknown;
    const std::filesystem::path run(options.runs.front());
    if (std::filesystem::is_directory(run, unknown)) return (run / "report.html").string();
    if (run.filename() == "stats.h5") return (run.parent_path() / "report.html").string();
    return run.string() + ".html";
}

Status write_page(const ReportOptions& options, const ReportedRun& reported) {
    const std::string path = place_of_page(options);
    ::umask(0077);  // the page has what tasks wrote
    const Status written = records::journal::write_atomically(path, views::web::report_page(reported),
                                                              records::journal::Sync::never);
    if (!written) return writing_failed(written.error(), "-o");
    std::printf("%s\n", path.c_str());
    return success();
}

void print(const ReportOptions& options, const std::vector<ReportedRun>& runs) {
    std::string text;
    if (options.form == ReportOptions::Form::text) {
        text = runs.size() == 2 ? views::report::comparison_text(runs.front(), runs.back())
                                : views::report::text_report(runs.front());
    } else {
        Json all = Json::array();
        for (const ReportedRun& each : runs) all.push_back(views::report::json_report(each));
        text = (runs.size() == 2 ? all : all.parts().front()).dump(2, true) + "\n";
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
}

Status run(const ReportOptions& options) {
    std::vector<ReportedRun> runs;
    for (const std::string& path : options.runs) {
        auto reported = read(options, path);
        if (!reported) return reported.error();
        runs.push_back(std::move(*reported));
    }
    if (options.form == ReportOptions::Form::page) return write_page(options, runs.front());
    if (options.form == ReportOptions::Form::csv) return write_csv(options, runs.front());
    if (options.form == ReportOptions::Form::trace) return write_trace(options, runs.front());
    print(options, runs);
    return success();
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = programs::status::parse_report_options(argc, argv);
    Status done = options.ok() ? success() : Status(options.error());
    try {
        if (options.ok() && options->help) {
            std::fputs(programs::status::report_help().c_str(), stdout);
        } else if (options.ok() && options->version) {
            std::puts("work_queue_report " WQ_VERSION);
        } else if (options.ok()) {
            done = run(*options);
        }
    } catch (const std::exception& error) {
        done = unexpected(error);
    }
    if (done) return after_output("work_queue_report", 0);
    std::fprintf(stderr, "work_queue_report: %s\n", line_for_message(done.error().message, 1000).c_str());
    return to_int(done.error().code);
}
