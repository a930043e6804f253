#include "cli/status_records.h"

#include <algorithm>

#include "base/time.h"
#include "base/units.h"
#include "catalog/query.h"
#include "catalog/record.h"
#include "listening/named_managers.h"

namespace wq::cli {

namespace {

using catalog::Json;

Result<std::vector<Json>> query_catalogs(catalog::CatalogClient& client, const StatusOptions& options,
                                         const std::string& where) {
    auto records = client.query(where, instant_now() + options.place.limit, -1, true);
    if (!records && records.error().code == ExitCode::unreachable)
        return Error{ExitCode::unreachable, "no catalog server answers: " + records.error().message};
    return records;
}

using catalog::integer_in;
using catalog::text_in;

// For the table: a name, how many have connected, and the names of its managers.
Json shown_factory(Json record) {
    if (text_in(record, "factory_name").empty()) record["factory_name"] = text_in(record, "project_regex");
    const std::int64_t submitted = integer_in(record, "workers_submitted");
    const std::int64_t connecting = integer_in(record, "workers_to_connect");
    if (!record.contains("workers_connected") && connecting >= 0 && submitted >= connecting)
        record["workers_connected"] = submitted - connecting;
    std::string names;
    if (const auto managers = record.find("managers"); managers != record.end() && managers->is_array())
        for (const Json& manager : *managers)
            if (manager.is_object()) names += (names.empty() ? "" : ", ") + text_in(manager, "project");
    record["managers"] = names;
    return record;
}

// Managers missed two updates at least: ours send one every 30 s, CCTools' every 60 s.
constexpr Duration longest_silence = std::chrono::seconds(60);
constexpr Duration longest_silence_of_cctools = std::chrono::seconds(120);

WallMicros heard_at(const Json& record) {
    constexpr std::int64_t most = std::int64_t{1} << 40;  // s
    return std::clamp<std::int64_t>(integer_in(record, "lastheardfrom"), 0, most) * micros_per_second;
}

std::string mark_of(Duration silent, Duration longest) {
    return silent > longest ? "silent for " + format_duration(silent) : "";
}

}  // namespace

std::string mark_of(Duration silent) {
    return mark_of(silent, longest_silence);
}

std::string mark_of(const Json& record, WallMicros asked_at) {
    const auto manager = listening::read_manager_record(record);
    const WallMicros heard = heard_at(record);
    if (!manager || heard <= 0) return {};
    return mark_of(std::chrono::microseconds(asked_at - heard),
                   manager->wire.empty() ? longest_silence_of_cctools : longest_silence);
}

Result<RecordedManagers> managers_of_catalogs(const StatusOptions& options,
                                              const std::vector<factory::FoundManager>& listed) {
    const auto pattern = listening::NamePattern::of(options.name.empty() ? ".*" : options.name);
    if (!pattern) return pattern.error();
    catalog::CatalogClient client(options.place.catalogs);
    auto records = query_catalogs(client, options, listening::query_for_managers(*pattern));
    if (!records) return records.error();
    // Without the time of the server it is ours, but not before it has heard the last.
    WallMicros asked_at = client.answered_at().value_or(wall_now());
    for (const Json& record : *records) asked_at = std::max(asked_at, heard_at(record));
    std::erase_if(*records, [&](const Json& record) {
        const auto manager = listening::read_manager_record(record);
        if (!manager || !pattern->matches(manager->project)) return true;
        return std::any_of(listed.begin(), listed.end(), [&](const factory::FoundManager& each) {
            return each.listing && listening::is_same_manager(each.listing->contact, *manager);
        });
    });
    return RecordedManagers{std::move(*records), asked_at};
}

Result<std::vector<Json>> factories_of_catalogs(const StatusOptions& options) {
    const auto pattern = listening::NamePattern::of(options.name.empty() ? ".*" : options.name);
    if (!pattern) return pattern.error();
    catalog::CatalogClient client(options.place.catalogs);
    auto records = query_catalogs(client, options, R"(type=="wq_factory")");
    if (!records) return records;
    std::vector<Json> factories;
    for (Json& record : *records) {
        const bool named = pattern->matches(text_in(record, "factory_name")) ||
                           pattern->matches(text_in(record, "project_regex"));
        if (!named) continue;
        factories.push_back(options.json ? std::move(record) : shown_factory(std::move(record)));
    }
    return factories;
}

}  // namespace wq::cli
