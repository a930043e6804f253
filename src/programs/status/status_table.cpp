#include "programs/status/status_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

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

std::string gigabytes(const nlohmann::ordered_json& record, const char* key) {
    const auto found = record.find(key);
    const double mb = found != record.end() && found->is_number() ? found->get<double>() : 0;
    char text[64];
    std::snprintf(text, sizeof text, "%.1f", mb / 1024);
    const std::string whole = text;
    return whole.substr(0, whole.find('.'));
}

bool is_cut_never(const nlohmann::ordered_json& record, const StatusColumn& column) {
    const auto found = record.find(column.key);
    return column.whole || (found != record.end() && found->is_number());
}

std::string value_of(const nlohmann::ordered_json& record, const StatusColumn& column) {
    if (column.gigabytes) return gigabytes(record, column.key);
    const auto found = record.find(column.key);
    if (found == record.end()) return "???";
    if (found->is_string()) return one_line(found->get<std::string>());
    return found->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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

std::string StatusTable::row(const nlohmann::ordered_json& record, const std::string& mark) const {
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

}  // namespace wq::programs::status
