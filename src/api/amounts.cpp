#include "api/amounts.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/amounts.h"
#include "base/units.h"

namespace wq::api {

namespace {

std::string text_of(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

Error refused(std::string why) {
    return {ExitCode::usage, std::move(why)};
}

// Amounts below a thousandth are rounded up to one.
std::int64_t thousandths(double said) {
    if (!(said > 0)) return engine::model::unsaid;
    return std::max<std::int64_t>(std::llround(said * 1000), 1);
}

std::int64_t said_or_not(std::int64_t amount) {
    return amount > 0 ? amount : engine::model::unsaid;
}

}  // namespace

Status check_amounts(const TaskResources& needs) {
    struct Amount {
        const char* name;
        std::int64_t said;
    };
    for (const auto& [name, said] : {Amount{"memory", needs.memory}, Amount{"disk", needs.disk}})
        if (said < -1 || said > most_mb)
            return refused(std::string(name) + "(" + std::to_string(said) +
                           "): give a number of MB from 0 to " + std::to_string(most_mb) +
                           " (1 EiB), or -1 for not specified");
    struct Fraction {
        const char* name;
        double said;
    };
    for (const auto& [name, said] : {Fraction{"cores", needs.cores}, Fraction{"gpus", needs.gpus}})
        if (!(said == -1 || (said >= 0 && said <= static_cast<double>(most_cores))))
            return refused(std::string(name) + "(" + text_of(said) + "): give a number from 0 to " +
                           std::to_string(most_cores) + ", or -1 for not specified");
    return success();
}

engine::model::Sizes sizes_of(const TaskResources& said) {
    return {thousandths(said.cores), said_or_not(said.memory), said_or_not(said.disk),
            thousandths(said.gpus)};
}

engine::model::Needs needs_of(const TaskResources& said) {
    const engine::model::Sizes sizes = sizes_of(said);
    const auto count = [](std::int64_t size) { return size < 0 ? Count(-1) : Count::of_thousandths(size); };
    return {count(sizes.cores), sizes.memory_mb, sizes.disk_mb, count(sizes.gpus)};
}

Result<engine::model::AllocationMode> mode_of(AllocationMode mode) {
    const int number = static_cast<int>(mode);
    if (number >= 0 && number <= static_cast<int>(engine::model::last_mode))
        return static_cast<engine::model::AllocationMode>(number);
    return refused("unknown mode " + std::to_string(number) + ": give 0 (fixed) to " +
                   std::to_string(static_cast<int>(engine::model::last_mode)) + " (" +
                   std::string(engine::model::name_of(engine::model::last_mode)) + ")");
}

Result<engine::model::ResourceKind> resource_named(const std::string& name) {
    if (name == "cores") return engine::model::ResourceKind::cores;
    if (name == "memory") return engine::model::ResourceKind::memory;
    if (name == "disk") return engine::model::ResourceKind::disk;
    if (name == "gpus") return engine::model::ResourceKind::gpus;
    return refused("unknown resource " + quote_for_message(name) + ": give cores, memory, disk or gpus");
}

Result<std::string> summaries_folder(const std::string& folder) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::absolute(folder, error);
    if (error) return refused("the current folder: " + error.message());
    std::filesystem::create_directories(path, error);
    if (error) return refused(folder + ": " + error.message());
    if (!std::filesystem::is_directory(path, error)) return refused(folder + ": it is not a folder");
    if (::access(path.c_str(), W_OK | X_OK) != 0)
        return refused(folder + ": " + std::system_category().message(errno));
    return path.string();
}

}  // namespace wq::api
