#include "records/logs/earlier_summaries.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

namespace wq::records::logs {

namespace {

using Json = nlohmann::json;

// Converts `[800, "MB"]` to this many parts of its unit.
std::int64_t amount_of(const Json& summary, const char* name, double parts) {
    const auto found = summary.find(name);
    if (found == summary.end() || !found->is_array() || found->empty() || !found->front().is_number())
        return engine::model::unsaid;
    const double amount = found->front().get<double>() * parts;
    constexpr double most = 1e15;
    return amount >= 0 ? std::llround(std::min(amount, most)) : engine::model::unsaid;
}

bool succeeded(const Json& summary) {
    return summary.value("exit_type", Json("normal")) == "normal" &&
           summary.value("exit_status", Json(0)) == 0;
}

void add(const Json& summary, EarlierSummaries& all) {
    const auto category = summary.find("category");
    if (category == summary.end() || !category->is_string() || !succeeded(summary)) return;
    engine::model::CategorySample sample;
    sample.peaks = {amount_of(summary, "cores", 1000), amount_of(summary, "memory", 1),
                    amount_of(summary, "disk", 1), amount_of(summary, "gpus", 1000)};
    sample.wall = std::chrono::microseconds(
        std::clamp<std::int64_t>(amount_of(summary, "wall_time", 1e6), 0, 1'000'000'000'000'000));
    all.samples[category->get<std::string>()].push_back(sample);
}

// Returns a discarded value if it is not JSON.
Json parse_next(std::istream& from) {
    Json next;
    try {
        from >> next;
    } catch (const Json::exception&) {
        return Json(Json::value_t::discarded);
    }
    return next;
}

// False: part of it is not a summary.
bool read_piece(const std::string& text, EarlierSummaries& all, std::uint64_t& count) {
    std::istringstream from(text);
    while (!(from >> std::ws).eof()) {
        const Json summary = parse_next(from);
        if (!summary.is_object()) return false;
        ++count;
        add(summary, all);
    }
    return true;
}

}  // namespace

Result<EarlierSummaries> read_summaries(const std::string& path) {
    const auto wrong = [&](const std::string& why) { return Error{ExitCode::bad_input, path + ": " + why}; };
    std::ifstream file(path);
    if (!file) return wrong(std::system_category().message(errno));
    EarlierSummaries all;
    std::uint64_t count = 0;
    std::uint64_t bad = 0;
    std::uint64_t first_bad = 0;
    // A piece reaches from one line that can begin a summary to the next; lines within a summary are
    // indented.
    std::string piece;
    std::uint64_t begin = 1;
    const auto end_piece = [&](std::uint64_t next) {
        if (!read_piece(piece, all, count) && bad++ == 0) first_bad = begin;
        piece.clear();
        begin = next;
    };
    std::uint64_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.starts_with('{')) end_piece(number);
        piece += line + '\n';
    }
    end_piece(number);
    if (bad == 0) return all;
    if (count == 0) return wrong("line " + std::to_string(first_bad) + " is not a summary, nor is any other");
    all.warning = path + ": line " + std::to_string(first_bad) + " is not a summary" +
                  (bad == 1 ? "" : ", like " + std::to_string(bad - 1) + " others") + ": skipped";
    return all;
}

}  // namespace wq::records::logs
