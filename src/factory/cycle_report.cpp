#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/local_time.h"
#include "base/units.h"
#include "factory/factory.h"

namespace wq::factory {

std::string text_of(const CycleReport& report) {
    const auto number = [](auto value) { return format_count(static_cast<std::uint64_t>(value)); };
    std::string text =
        "tasks " + number(report.ready) + " waiting, " + number(report.on_workers) + " on workers";
    if (report.unfit > 0) text += ", " + number(report.unfit) + " not for these workers";
    if (report.silent_since > 0)
        text = "no answer since " + local_time(report.silent_since, "%H:%M:%S") + " (then " + text + ")";
    if (report.managers == 0) text = "no manager";
    if (report.ended == Ended::over)
        text = report.removed > 0 ? "the run has ended; its workers are removed"
                                  : "the run has ended; waiting for the next one (Ctrl-C ends this factory)";
    if (report.ended == Ended::resumable)
        text = "the run was interrupted; its workers wait until it is resumed";
    if (report.unanswered > 0 && report.silent_since == 0)
        text += " (" + count_of(report.unanswered, "manager") + " did not answer)";
    if (report.by_record > 0)
        text += " (" + count_of(report.by_record, "manager") + " by catalog, at most " +
                format_duration(std::chrono::seconds(report.oldest_record_s)) + " old)";
    text += "; workers " + number(report.supply.connected) + " connected, " + number(report.supply.starting) +
            " starting, " + number(report.supply.pending) + " pending";
    if (!report.pending_why.empty()) text += " (" + line_for_message(report.pending_why, 60) + ")";
    if (report.supply.others > 0) text += ", and others like " + number(report.supply.others);
    text += "; wanted " + number(report.decision.wanted);
    if (report.submitted > 0) text += "; submitted " + number(report.submitted);
    if (report.removed > 0) text += "; removed " + number(report.removed);
    if (!report.held.empty()) text += "; none submitted: " + report.held;
    return text;
}

std::optional<CycleReport> report_in(const std::string& line) {
    const auto all = nlohmann::json::parse(line, nullptr, false);
    if (!all.is_object()) return std::nullopt;
    const auto number = [&](const char* key, auto& target) {
        const auto found = all.find(key);
        if (found != all.end() && found->is_number_integer())
            target = found->get<std::remove_reference_t<decltype(target)>>();
    };
    CycleReport report;
    number("managers", report.managers);
    number("unanswered", report.unanswered);
    number("tasks_waiting", report.ready);
    number("tasks_on_workers", report.on_workers);
    number("tasks_unfit", report.unfit);
    number("workers_connected", report.supply.connected);
    number("workers_starting", report.supply.starting);
    number("workers_pending", report.supply.pending);
    number("workers_other", report.supply.others);
    number("workers_wanted", report.decision.wanted);
    number("submitted", report.submitted);
    number("removed", report.removed);
    if (const auto why = all.find("pending_why"); why != all.end() && why->is_string())
        report.pending_why = *why;
    if (const auto held = all.find("held"); held != all.end() && held->is_string()) report.held = *held;
    return report;
}

std::string json_of(const CycleReport& report) {
    const nlohmann::ordered_json all{{"time", report.time / micros_per_second},
                                     {"managers", report.managers},
                                     {"unanswered", report.unanswered},
                                     {"tasks_waiting", report.ready},
                                     {"tasks_on_workers", report.on_workers},
                                     {"tasks_unfit", report.unfit},
                                     {"workers_connected", report.supply.connected},
                                     {"workers_starting", report.supply.starting},
                                     {"workers_pending", report.supply.pending},
                                     {"workers_other", report.supply.others},
                                     {"workers_wanted", report.decision.wanted},
                                     {"submitted", report.submitted},
                                     {"removed", report.removed},
                                     {"pending_why", report.pending_why},
                                     {"held", report.held}};
    return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string record_of(const CycleReport& report, const Settings& settings, const std::string& factory,
                      std::int64_t number) {
    using Json = nlohmann::ordered_json;
    Json managers = Json::array();
    for (const ServedManager& one : report.served)
        managers.push_back({{"project", one.project},
                            {"name", one.at.host},
                            {"port", one.at.port},
                            {"tasks_waiting", one.ready},
                            {"tasks_running", one.on_workers},
                            {"tasks_complete", one.done},
                            {"workers", one.workers}});
    const Supply& supply = report.supply;
    const std::int64_t coming = supply.starting + supply.pending;
    const Json record{{"type", "wq_factory"},
                      {"port", -number},  // none: by address and port, servers tell records apart
                      {"factory_name", factory},
                      {"project_regex", settings.manager_name},
                      {"submission_regex", settings.manager_name},
                      {"max_workers", settings.max_workers},
                      {"workers_needed", report.decision.wanted},
                      {"workers_requested", report.decision.wanted},
                      {"workers_submitted", supply.connected + coming},
                      {"workers_to_connect", coming},
                      {"workers_connected", supply.connected},
                      {"managers", managers},
                      {"foremen", Json::array()},
                      {"owner", records::journal::user_name()},
                      {"name", records::journal::host_name()},
                      {"version", WQ_VERSION}};
    return record.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wq::factory
