#include "programs/status/status_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/units.h"
#include "net/catalog/catalog_client.h"
#include "net/catalog/record.h"
#include "net/contact/named_managers.h"
#include "net/contact/registry.h"

namespace wq::programs::status {

namespace {

constexpr auto left = StatusColumn::Align::left;
constexpr auto right = StatusColumn::Align::right;

// Whether a byte begins a character of UTF-8.
bool begins(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

// Each one counts as one column.
std::size_t characters_of(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

// Left-aligned text keeps its begin, other text its end.
std::string padded(const std::string& text, std::size_t width, StatusColumn::Align align) {
    const std::size_t characters = characters_of(text);
    if (characters <= width) {
        const std::string blanks(width - characters, ' ');
        return align == left ? text + blanks : blanks + text;
    }
    std::size_t skipped = align == left ? width : characters - width;
    std::size_t at = 0;
    while (at < text.size() && (!begins(text[at]) || skipped > 0)) {
        if (begins(text[at])) --skipped;
        ++at;
    }
    return align == left ? text.substr(0, at) : text.substr(at);
}

// Nothing that others send moves the cursor of a terminal.
std::string one_line(std::string text) {
    char before = 0;
    for (char& byte : text) {
        const auto code = static_cast<unsigned char>(byte);
        if (before == '\xc2' && code < 0xa0) byte = '\xa0';  // of U+0080 to U+009F a blank
        before = byte;
        if (code < 32 || byte == 127) byte = ' ';
    }
    return text;
}

std::string gigabytes(const Json& record, const char* key) {
    const Json* const found = record.find(key);
    const double mb = found != nullptr && found->is_number() ? found->number() : 0;
    char text[64];
    std::snprintf(text, sizeof text, "%.1f", mb / 1024);
    const std::string whole = text;
    return whole.substr(0, whole.find('.'));
}

bool is_cut_never(const Json& record, const StatusColumn& column) {
    const Json* const found = record.find(column.key);
    return column.whole || (found != nullptr && found->is_number());
}

std::string value_of(const Json& record, const StatusColumn& column) {
    if (column.gigabytes) return gigabytes(record, column.key);
    const Json* const found = record.find(column.key);
    if (found == nullptr) return "???";
    if (found->is_string()) return one_line(found->text());
    return found->dump();
}

}  // namespace

const StatusColumns queue_columns{{"PROJECT", "project", left, -18},
                                  {"HOST", "name", left, -21, false, true},
                                  {"PORT", "port", right, 5},
                                  {"WAITING", "tasks_waiting", right, 7},
                                  {"RUNNING", "tasks_running", right, 7},
                                  {"COMPLETE", "tasks_complete", right, 8},
                                  {"WORKERS", "workers", right, 7}};
const StatusColumns task_columns{
    {"ID", "taskid", left, 4},     {"STATE", "state", left, 8},       {"PRIORITY", "priority", right, 8},
    {"HOST", "host", left, -10},   {"COMMAND", "command", left, -18}, {"CORES", "cores", left, 8},
    {"MEMORY", "memory", left, 8}, {"DISK", "disk", left, 8},         {"GPUS", "gpus", left, 8}};
const StatusColumns worker_columns{{"HOST", "hostname", left, -10},
                                   {"ADDRESS", "address_port", left, -15, false, true},
                                   {"COMPLETED", "total_tasks_complete", right, 9},
                                   {"RUNNING", "total_tasks_running", left, 7},
                                   {"CORE_USE", "cores_inuse", left, -6},
                                   {"CORE_ALL", "cores_total", left, -6},
                                   {"MEM_USE", "memory_inuse", left, -5},
                                   {"MEM_ALL", "memory_total", left, -5},
                                   {"DISK_USE", "disk_inuse", left, -6},
                                   {"DISK_ALL", "disk_total", left, -6},
                                   {"GPUS_USE", "gpus_inuse", left, -6},
                                   {"GPUS_ALL", "gpus_total", left, -6}};
const StatusColumns category_columns{
    {"CATEGORY", "category", left, -12},     {"DISPATCHED", "tasks_on_workers", right, 10},
    {"WAITING", "tasks_waiting", right, 10}, {"FIT-WORKERS", "workers_able", right, 12},
    {"MAX-CORES", "max_cores", right, 10},   {"MAX-MEMORY", "max_memory", right, 10},
    {"MAX-DISK", "max_disk", right, 10}};
const StatusColumns resource_columns{
    {"MANAGER", "project", left, -19},         {"CORES", "cores_total", right, 6},
    {"INUSE", "cores_inuse", right, 6},        {"MEM(GB)", "memory_total", right, 8, true},
    {"INUSE", "memory_inuse", right, 8, true}, {"DISK(GB)", "disk_total", right, 9, true},
    {"INUSE", "disk_inuse", right, 9, true}};
const StatusColumns capacity_columns{{"MANAGER", "project", left, 30},
                                     {"TASKS", "capacity_tasks", left, 10},
                                     {"CORES", "capacity_cores", left, 10},
                                     {"MEMORY", "capacity_memory", left, 15},
                                     {"DISK", "capacity_disk", left, 20}};
const StatusColumns factory_columns{
    {"FACTORY", "factory_name", left, -20},       {"OWNER", "owner", left, -10},
    {"WANTED", "workers_needed", right, 6},       {"SUBMITTED", "workers_submitted", right, 9},
    {"CONNECTED", "workers_connected", right, 9}, {"MANAGERS", "managers", left, -18}};

StatusTable::StatusTable(const StatusColumns& columns, int line_width) {
    int total = 0, growing = 0;
    for (const StatusColumn& column : columns) {
        total += std::abs(column.width) + 1;
        growing += column.width < 0 ? 1 : 0;
    }
    const int more = growing == 0 ? 0 : std::max(line_width - total, 0) / growing;
    int behind_first = 0;  // CCTools' program does not count the first column
    for (StatusColumn column : columns) {
        if (!columns_.empty()) behind_first += std::abs(column.width) + 1;
        if (!columns_.empty() && behind_first >= line_width) break;
        if (column.width < 0) column.width = more - column.width;
        columns_.push_back(column);
    }
}

std::string StatusTable::header() const {
    std::string line;
    for (const StatusColumn& column : columns_)
        line += padded(column.title, static_cast<std::size_t>(column.width), column.align) + " ";
    return line + "\n";
}

std::string StatusTable::row(const Json& record, const std::string& mark) const {
    std::string line;
    std::size_t behind = 0;  // how far long values have moved the rest of the line
    for (const StatusColumn& column : columns_) {
        const std::string value = value_of(record, column);
        const auto width = static_cast<std::size_t>(column.width);
        std::size_t shown = characters_of(value);
        if (!is_cut_never(record, column)) shown = std::min(shown, width);
        shown = std::max(shown, width - std::min(width, behind));
        line += padded(value, shown, column.align) + " ";
        behind += shown - width;  // not below 0
    }
    return line + mark + "\n";
}

int line_width() {
    constexpr int narrowest = 10;  // anything below is no terminal
    if (const char* const columns = std::getenv("COLUMNS"))
        if (const int width = std::atoi(columns); width >= narrowest) return width;
    winsize size{};
    const bool terminal = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= narrowest;
    return terminal ? size.ws_col : 80;
}

namespace {

Result<std::vector<Json>> query_catalogs(net::catalog::CatalogClient& client, const StatusOptions& options,
                                         const std::string& where) {
    auto records = client.query(where, instant_now() + options.place.limit, -1,
                                net::catalog::CatalogClient::Rounds::one);
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
    if (record.find("workers_connected") == nullptr && connecting >= 0 && submitted >= connecting)
        record["workers_connected"] = submitted - connecting;
    std::string names;
    if (const Json* const managers = record.find("managers"); managers != nullptr && managers->is_array())
        for (const Json& manager : managers->parts())
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
    return mark_of(std::chrono::microseconds(asked_at - heard), record.find("workers_connected") != nullptr
                                                                    ? longest_silence
                                                                    : longest_silence_of_cctools);
}

}  // namespace

std::vector<FoundFactory> factories_of_user(const StatusOptions& options) {
    std::vector<FoundFactory> factories;
    for (const net::contact::FactoryListing& one :
         net::contact::find_factories(net::contact::registry_folder())) {
        if (net::catalog::is_too_deep(one.record)) continue;
        if (auto record = wanted_factory(Json::parse(one.record), options))
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
