#include "manager/report/run_view.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "manager/report/progress.h"
#include "records/journal/run_directory.h"

namespace wq::manager::report {

namespace {

constexpr auto still_fresh = std::chrono::minutes(1);

std::string state_of(const RunView& view) {
    return view.status.state == "running" && !view.live ? "killed" : view.status.state;
}

// Why it is in that state, and how it goes on.
std::string more_about(const RunView& view, const std::string& state) {
    const std::string& why = view.status.message;
    std::string text = why.empty() || why == state ? "" : ", " + why;
    if (state == "killed") text += ", no sign of life for " + format_duration(*view.age);
    if (view.status.exit_code) text += ", exit " + std::to_string(*view.status.exit_code);
    return text + (state == "killed" || state == "interrupted" ? "; --resume continues" : "");
}

}  // namespace

// Locks may be invisible on other hosts; then only a fresh status shows that it runs.
bool may_be_live(const std::string& run_directory, const records::journal::RunStatus& status) {
    if (records::journal::RunDirectory::is_taken(run_directory)) return true;
    if (status.state != "running" || records::journal::is_gone(status.host, status.pid)) return false;
    std::error_code unknown;
    const auto written = std::filesystem::last_write_time(run_directory + "/status", unknown);
    return !unknown && std::filesystem::file_time_type::clock::now() - written < still_fresh;
}

Result<RunView> view_of_directory(const std::string& run_directory) {
    auto status = records::journal::read_status(run_directory);
    if (!status)
        return Error{
            ExitCode::bad_input,
            run_directory + " is no directory of a run, and no contact file; that of a list is LIST.wq"};
    RunView view{run_directory, std::move(*status)};
    view.live = view.status.state == "running" && may_be_live(run_directory, view.status);
    view.age = std::chrono::microseconds(std::max<WallMicros>(wall_now() - view.status.written_us, 0));
    const WallMicros end = view.status.ended_us > 0 ? view.status.ended_us : view.status.written_us;
    view.elapsed = std::chrono::microseconds(std::max<WallMicros>(end - view.status.started_us, 0));
    return view;
}

std::string view_text(const RunView& view) {
    const std::string state = state_of(view);
    const double rate = view.live ? view.status.tasks_per_second : -1;
    return state + more_about(view, state) + ": " +
           progress_text(view.status.tasks, view.status.total_known, view.elapsed, rate);
}

std::string view_json(const RunView& view) {
    const engine::model::ManagerStats& tasks = view.status.tasks;
    const std::string state = state_of(view);
    nlohmann::json all{
        {"schema", 1},
        {"run", view.run},
        {"state", state},
        {"exit_code", view.status.exit_code ? nlohmann::json(*view.status.exit_code) : nullptr},
        {"message", view.status.message},
        {"total_known", view.status.total_known},
        {"tasks",
         {{"submitted", tasks.tasks_submitted},
          {"succeeded", tasks.tasks_done - tasks.tasks_failed},
          {"failed", tasks.tasks_failed},
          {"running", tasks.tasks_running},
          {"waiting", tasks.tasks_waiting}}},
    };
    const auto number = [&](const char* name, std::optional<double> value) {
        all[name] = value ? nlohmann::json(*value) : nullptr;
    };
    const auto seconds = [](std::optional<Duration> time) {
        return time ? std::optional(std::chrono::duration<double>(*time).count()) : std::nullopt;
    };
    const double rate = view.live ? view.status.tasks_per_second : -1;
    number("tasks_per_second", rate < 0 ? std::nullopt : std::optional(rate));
    number("seconds_left", seconds_left(tasks, view.status.total_known, rate));
    number("seconds_elapsed", seconds(view.elapsed));
    number("seconds_old", seconds(view.age));
    return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace wq::manager::report
