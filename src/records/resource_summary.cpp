#include "records/resource_summary.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "records/append_file.h"
#include "records/quantities.h"
#include "records/task_number.h"

namespace wq::records {

namespace {

using Json = nlohmann::ordered_json;

Json as_json(const Quantity& quantity) {
    if (quantity.parts == 1) return Json::array({quantity.amount, quantity.unit});
    return Json::array(
        {static_cast<double>(quantity.amount) / static_cast<double>(quantity.parts), quantity.unit});
}

void add(Json& object, const Quantities& quantities) {
    for (const Quantity& quantity : quantities) object[std::string(quantity.name)] = as_json(quantity);
}

// As a shell reports it.
int exit_status(const core::Outcome& outcome) {
    return outcome.signal != 0 ? 128 + outcome.signal : outcome.exit_code;
}

}  // namespace

std::string resource_summary(const TaskRecord& record, const SummaryNames& names) {
    const core::Outcome& outcome = record.outcome;
    const Quantities exceeded = exceeded_limits(outcome, record.given);
    Json root;
    // The monitor's readers know both names.
    const std::string number = std::to_string(task_number(record.task));
    root["taskid"] = number;
    root["task_id"] = number;
    root["category"] = names.category;
    root["command"] = names.command;
    if (!names.host.empty()) root["host"] = names.host;
    root["exit_status"] = exit_status(outcome);
    root["exit_type"] = !exceeded.empty() ? "limits" : outcome.signal != 0 ? "signal" : "normal";
    if (outcome.signal != 0) root["signal"] = outcome.signal;
    if (!exceeded.empty()) add(root["limits_exceeded"], exceeded);
    add(root, quantities_of(outcome));
    return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string resource_summary_path(const std::string& folder, std::int64_t manager_pid,
                                  std::uint64_t task_number) {
    return (folder.empty() ? std::string(".") : folder) + "/wq-" + std::to_string(manager_pid) + "-task-" +
           std::to_string(task_number) + ".summary";
}

Status write_resource_summary(const std::string& folder, std::int64_t manager_pid, std::uint64_t task_number,
                              std::string_view json) {
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    if (error) return write_error(folder, error.value());
    return write_atomically(resource_summary_path(folder, manager_pid, task_number), json, false);
}

}  // namespace wq::records
