#include "factory/scripts.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/find_above.h"
#include "base/units.h"

namespace wq::factory {

namespace {

namespace fs = std::filesystem;

constexpr int levels = 6;  // build/test/bin; scripts beside build

std::string find_submit() {
    if (const char* folder = std::getenv("WORK_QUEUE_SCRIPTS"); folder != nullptr && *folder != '\0') {
        const std::string named = std::string(folder) + "/submit_workers";
        return is_executable_file(named) ? named : "";
    }
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    const auto found = find_above(program.parent_path().string(),
                                  {WQ_SCRIPTS_PLACE "/submit_workers", "scripts/submit_workers"}, levels);
    const std::string installed = WQ_SCRIPTS_INSTALLED "/submit_workers";
    return found ? *found : is_executable_file(installed) ? installed : "";
}

std::string systems_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (is_executable_file(entry.path() / "driver")) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
}

// Those of CCTools' factory that have no driver here.
std::string_view in_its_place(std::string_view system) {
    constexpr std::string_view driver =
        "give the path of a driver of your own (guide: On your cluster, Adding a batch system)";
    constexpr std::string_view started =
        "start work_queue_worker HOST PORT there yourself, as its image or user data";
    constexpr std::string_view inner = "use -T local inside its tasks, or the batch system below it";
    constexpr std::pair<std::string_view, std::string_view> all[] = {
        {"amazon", started}, {"cluster", driver},
        {"flux", driver},    {"k8s", started},
        {"mesos", started},  {"moab", "use the system below Moab: -T torque, pbs or slurm"},
        {"vine", inner},     {"wq", inner}};
    for (const auto& [name, use] : all)
        if (name == system) return use;
    return {};
}

}  // namespace

Result<Scripts> find_scripts(const std::string& system) {
    const std::string submit = find_submit();
    if (submit.empty())
        return Error{ExitCode::unreachable,
                     "the scripts of batch systems are neither near this program nor in " WQ_SCRIPTS_INSTALLED
                     ": install the project, or set WORK_QUEUE_SCRIPTS to their folder"};
    const fs::path folder = fs::path(submit).parent_path();
    const bool is_path = system.find('/') != std::string::npos;
    std::error_code error;
    const fs::path driver =
        is_path ? fs::absolute(system, error) : folder / (system == "sge" ? "uge" : system) / "driver";
    if (is_executable_file(driver)) return Scripts{submit, driver.string()};
    if (const std::string_view use = in_its_place(system); !use.empty())
        return Error{ExitCode::usage, "-T " + system + " is not supported: " + std::string(use)};
    return Error{ExitCode::usage,
                 is_path ? quote_for_message(system) +
                               " cannot be executed; -T takes a batch system, or the path of a driver"
                         : "-T " + quote_for_message(system) + ": there are " + systems_in(folder) +
                               ", and paths of drivers, which contain a '/'"};
}

}  // namespace wq::factory
