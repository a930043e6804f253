#include "programs/run/status.h"

#include <filesystem>

#include "factory/ask_status.h"
#include "manager/report/run_view.h"
#include "net/frames/contact.h"
#include "programs/run/run_place.h"
#include "records/journal/append_file.h"

namespace wq::programs::run {

namespace {

constexpr Duration answer_limit = std::chrono::seconds(10);

manager::report::RunView view_of(const std::string& run, const net::messages::StatusReport& said) {
    manager::report::RunView view;
    view.run = run;
    view.live = true;
    view.status.state = said.ending ? "ending" : "running";
    engine::model::ManagerStats& tasks = view.status.tasks;
    const auto count = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
    tasks.tasks_submitted = count(said.submitted);
    tasks.tasks_done = count(said.done + said.failed);
    tasks.tasks_failed = count(said.failed);
    tasks.tasks_running = count(said.running);
    for (const net::messages::TasksOfShape& shape : said.shapes)
        tasks.tasks_on_workers += count(shape.on_workers);
    tasks.tasks_waiting = tasks.tasks_submitted - tasks.tasks_done - tasks.tasks_on_workers;
    if (said.ended_in_1000_s >= 0)
        view.status.tasks_per_second = static_cast<double>(said.ended_in_1000_s) / 1000;
    if (said.elapsed_us > 0) view.elapsed = std::chrono::microseconds(said.elapsed_us);
    return view;
}

Result<manager::report::RunView> view_by_contact(const std::string& path, const std::string& directory) {
    const auto contact = net::frames::read_contact(path);
    if (!contact) {
        const auto text = records::journal::read_whole(path);
        if (text && net::frames::parse_contact(*text)) return contact.error();
        return Error{ExitCode::bad_input, path + ": no run of this list, as there is no " + directory +
                                              "; if it ran in another directory, name that"};
    }
    const auto said =
        std::move(wq::factory::ask_status({net::frames::dial_options(*contact)}, answer_limit).front());
    if (said) return view_of(path, *said);
    return Error{said.error().code,
                 path + ": " + said.error().message + "; it is left over if its run has ended"};
}

}  // namespace

Result<std::string> contact_of_run(const std::string& run) {
    std::error_code unknown;
    const bool is_file = std::filesystem::is_regular_file(run, unknown);
    if (is_file && net::frames::read_contact(run)) return run;
    const std::string directory = directory_of_run(run);
    const auto view = manager::report::view_of_directory(directory);
    if (!view) return view.error();
    if (std::filesystem::exists(directory + "/contact", unknown)) return directory + "/contact";
    return Error{ExitCode::unreachable,
                 directory + (view->live ? ": this run answers nobody: start it with --listen"
                                         : ": this run has ended; without a mode, its end is shown")};
}

Result<std::string> run_status(const std::string& run, bool json) {
    std::error_code unknown;
    const bool is_file = std::filesystem::is_regular_file(run, unknown);
    const std::string directory = directory_of_run(run);
    const auto view = is_file && !records::journal::read_status(directory)
                          ? view_by_contact(run, directory)
                          : manager::report::view_of_directory(directory);
    if (!view) return view.error();
    return json ? manager::report::view_json(*view) : manager::report::view_text(*view);
}

}  // namespace wq::programs::run
