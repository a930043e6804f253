#include "api/earlier_summaries.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace wq::api {

namespace {

using Json = nlohmann::json;

// `[800, "MB"]`, in so many parts of its unit.
std::int64_t amount_of(const Json& summary, const char* name, double parts) {
    const auto found = summary.find(name);
    if (found == summary.end() || !found->is_array() || found->empty() || !found->front().is_number())
        return core::unsaid;
    const double amount = found->front().get<double>() * parts;
    constexpr double most = 1e15;
    return amount >= 0 ? std::llround(std::min(amount, most)) : core::unsaid;
}

bool succeeded(const Json& summary) {
    return summary.value("exit_type", Json("normal")) == "normal" &&
           summary.value("exit_status", Json(0)) == 0;
}

}  // namespace

Result<std::map<std::string, std::vector<core::CategorySample>>> read_summaries(const std::string& path) {
    const auto wrong = [&](const std::string& why) { return Error{ExitCode::bad_input, path + ": " + why}; };
    std::map<std::string, std::vector<core::CategorySample>> all;
    std::ifstream file(path);
    if (!file) return wrong(std::system_category().message(errno));
    std::uint64_t count = 0;
    while (!(file >> std::ws).eof()) {
        ++count;
        Json summary;
        try {
            file >> summary;
        } catch (const Json::exception&) {
            return wrong("summary " + std::to_string(count) + " is no JSON");
        }
        if (!summary.is_object()) return wrong("summary " + std::to_string(count) + " is no object");
        const auto category = summary.find("category");
        if (category == summary.end() || !category->is_string() || !succeeded(summary)) continue;
        core::CategorySample sample;
        sample.peaks = {amount_of(summary, "cores", 1000), amount_of(summary, "memory", 1),
                        amount_of(summary, "disk", 1), amount_of(summary, "gpus", 1000)};
        sample.wall = std::chrono::microseconds(
            std::clamp<std::int64_t>(amount_of(summary, "wall_time", 1e6), 0, 1'000'000'000'000'000));
        all[category->get<std::string>()].push_back(sample);
    }
    return all;
}

}  // namespace wq::api
