#include "programs/status/status_records.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/time.h"
#include "base/units.h"
#include "net/catalog/query.h"
#include "net/catalog/record.h"
#include "net/contact/named_managers.h"
#include "net/contact/registry.h"

namespace wq::programs::status {

namespace {

using net::catalog::Json;

Result<std::vector<Json>> query_catalogs(net::catalog::CatalogClient& client, const StatusOptions& options,
                                         const std::string& where) {
    auto records = client.query(where, instant_now() + options.place.limit, -1, true);
    if (!records && records.error().code == ExitCode::unreachable)
        return Error{ExitCode::unreachable, "no catalog server answers: " + records.error().message};
    return records;
}

using net::catalog::integer_in;
using net::catalog::text_in;

std::string name_of(const Json& manager) {
    std::string project = text_in(manager, "project");
    return project.empty() ? text_in(manager, "name") + ":" + std::to_string(integer_in(manager, "port"))
                           : project;
}

// A name, how many have connected, and the names of its managers.
Json shown_factory(Json record) {
    if (text_in(record, "factory_name").empty()) record["factory_name"] = text_in(record, "project_regex");
    const std::int64_t submitted = integer_in(record, "workers_submitted");
    const std::int64_t connecting = integer_in(record, "workers_to_connect");
    if (!record.contains("workers_connected") && connecting >= 0 && submitted >= connecting)
        record["workers_connected"] = submitted - connecting;
    std::string names;
    if (const auto managers = record.find("managers"); managers != record.end() && managers->is_array())
        for (const Json& manager : *managers)
            if (manager.is_object()) names += (names.empty() ? "" : ", ") + name_of(manager);
    const std::string& wanted = text_in(record, "project_regex");
    record["managers"] = names.empty() && !wanted.empty() ? "-M " + wanted : names;
    return record;
}

// Managers missed two updates at least: ours send one every 30 s, CCTools' every 60 s.
constexpr Duration longest_silence = std::chrono::seconds(60);
constexpr Duration longest_silence_of_cctools = std::chrono::seconds(120);

WallMicros heard_at(const Json& record) {
    constexpr std::int64_t most = std::int64_t{1} << 40;  // s
    return std::clamp<std::int64_t>(integer_in(record, "lastheardfrom"), 0, most) * micros_per_second;
}

// By the server's clock; without it by ours, but not before the server has heard the last.
WallMicros asked(const net::catalog::CatalogClient& client, const std::vector<Json>& records) {
    WallMicros at = client.answered_at().value_or(wall_now());
    for (const Json& record : records) at = std::max(at, heard_at(record));
    return at;
}

std::string mark_of(Duration silent, Duration longest) {
    return silent > longest ? "silent for " + format_duration(silent) : "";
}

}  // namespace

std::string mark_of(Duration silent) {
    return mark_of(silent, longest_silence);
}

std::string mark_of(const Json& record, WallMicros asked_at) {
    const auto manager = net::contact::read_manager_record(record);
    const WallMicros heard = heard_at(record);
    if (!manager || heard <= 0) return {};
    return mark_of(std::chrono::microseconds(asked_at - heard),
                   manager->wire.empty() ? longest_silence_of_cctools : longest_silence);
}

Result<RecordedManagers> managers_of_catalogs(const StatusOptions& options,
                                              const std::vector<wq::factory::FoundManager>& listed) {
    const auto pattern = net::contact::NamePattern::of(options.name.empty() ? ".*" : options.name);
    if (!pattern) return pattern.error();
    net::catalog::CatalogClient client(options.place.catalogs);
    auto records = query_catalogs(client, options, net::contact::query_for_managers(*pattern));
    if (!records) return records.error();
    const WallMicros asked_at = asked(client, *records);
    std::erase_if(*records, [&](const Json& record) {
        const auto manager = net::contact::read_manager_record(record);
        if (!manager || !pattern->matches(manager->project)) return true;
        return std::any_of(listed.begin(), listed.end(), [&](const wq::factory::FoundManager& each) {
            return each.listing && net::contact::is_same_manager(each.listing->contact, *manager);
        });
    });
    return RecordedManagers{std::move(*records), asked_at};
}

namespace {

// nullopt: another one, or what is no record of a factory.
std::optional<Json> wanted_factory(Json record, const StatusOptions& options) {
    const auto pattern = net::contact::NamePattern::of(options.name.empty() ? ".*" : options.name);
    if (!pattern || !record.is_object() || text_in(record, "type") != "wq_factory") return std::nullopt;
    if (!pattern->matches(text_in(record, "factory_name")) &&
        !pattern->matches(text_in(record, "project_regex")))
        return std::nullopt;
    if (!options.shows(record)) return std::nullopt;
    return record;
}

Json as_shown(Json record, const StatusOptions& options) {
    return options.json ? std::move(record) : shown_factory(std::move(record));
}

// Its "port" is the number of its folder; its "name" is another one in a catalog.
bool has(const std::vector<FoundFactory>& factories, const Json& record) {
    const auto key = [](const Json& one) {
        return std::pair(text_in(one, "factory_name"), integer_in(one, "port"));
    };
    return std::any_of(factories.begin(), factories.end(),
                       [&](const FoundFactory& known) { return key(known.record) == key(record); });
}

// CCTools' factories do not say how many workers have connected.
std::string mark_of_factory(const Json& record, WallMicros asked_at) {
    const WallMicros heard = heard_at(record);
    if (heard <= 0) return {};
    return mark_of(std::chrono::microseconds(asked_at - heard),
                   record.contains("workers_connected") ? longest_silence : longest_silence_of_cctools);
}

}  // namespace

std::vector<FoundFactory> factories_of_user(const StatusOptions& options) {
    std::vector<FoundFactory> factories;
    for (const net::contact::FactoryListing& one :
         net::contact::find_factories(net::contact::registry_folder())) {
        if (net::catalog::is_too_deep(one.record)) continue;
        if (auto record = wanted_factory(Json::parse(one.record, nullptr, false), options))
            factories.push_back({as_shown(std::move(*record), options), mark_of(one.age)});
    }
    return factories;
}

Status add_factories_of_catalogs(const StatusOptions& options, std::vector<FoundFactory>& factories) {
    net::catalog::CatalogClient client(options.place.catalogs);
    auto records = query_catalogs(client, options, R"(type=="wq_factory")");
    if (!records) return records.error();
    const WallMicros asked_at = asked(client, *records);
    std::vector<FoundFactory> others;
    for (Json& each : *records) {
        auto record = wanted_factory(std::move(each), options);
        if (!record || has(factories, *record)) continue;
        const std::string mark = mark_of_factory(*record, asked_at);
        others.push_back({as_shown(std::move(*record), options), mark});
    }
    std::move(others.begin(), others.end(), std::back_inserter(factories));
    return success();
}

}  // namespace wq::programs::status
