#include "net/contact/manager_record.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/time.h"
#include "net/catalog/record.h"
#include "net/frames/tcp_socket.h"
#include "net/messages/messages.h"
#include "records/journal/run_status.h"

namespace wq::net::contact {

namespace {

constexpr std::size_t most_host_bytes = 255;
constexpr std::size_t most_wire_bytes = 64;
constexpr std::uint64_t most_counted = std::uint64_t{1} << 40;  // figures of managers are added up

using catalog::integer_in;
using catalog::text_in;

std::uint64_t count_in(const Json& record, const char* key) {
    return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(integer_in(record, key), 0)),
                    most_counted);
}

// Of a figure that may have a fraction, rounded up.
std::uint64_t amount_in(const Json& record, const char* key) {
    const Json* const found = record.find(key);
    if (found == nullptr || !found->is_number_float()) return count_in(record, key);
    const double amount = std::ceil(found->number());
    if (!(amount > 0)) return 0;
    return amount < static_cast<double>(most_counted) ? static_cast<std::uint64_t>(amount) : most_counted;
}

// A numeric address with a zone ("fe80::1%eth0") is of no use on another host.
bool is_address(const std::string& text) {
    return text.size() <= most_host_bytes &&
           text.find_first_not_of("0123456789abcdefABCDEF.:") == std::string::npos &&
           frames::is_numeric(text);
}

bool is_host_name(const std::string& text) {
    const auto usual = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '.' || c == '_';
    };
    return !text.empty() && text.size() <= most_host_bytes && text.front() != '-' && text.front() != '.' &&
           std::all_of(text.begin(), text.end(), usual);
}

// CCTools before 7.10 calls the address "host". False: one is none.
bool read_interfaces(const Json& record, std::vector<std::string>& addresses) {
    const Json* const found = record.find("network_interfaces");
    if (found == nullptr) return true;
    if (!found->is_array()) return false;
    for (const Json& each : found->parts()) {
        if (!each.is_object()) return false;
        std::string address = text_in(each, "address");
        if (address.empty()) address = text_in(each, "host");
        if (!is_address(address)) return false;
        if (addresses.size() < most_record_hosts) addresses.push_back(std::move(address));
    }
    return true;
}

std::vector<std::string> in_order(const ManagerRecord& manager, const std::string& preferred) {
    std::vector<std::string> order;
    if (preferred == "by_hostname") order.push_back(manager.name);
    if (preferred == "by_apparent_ip") order.push_back(manager.address);
    order.insert(order.end(), manager.interfaces.begin(), manager.interfaces.end());
    order.push_back(manager.address);
    order.push_back(manager.name);
    std::vector<std::string> hosts;
    for (std::string& each : order)
        if (!each.empty() && std::find(hosts.begin(), hosts.end(), each) == hosts.end())
            hosts.push_back(std::move(each));
    // Elsewhere a loopback address leads to whatever listens there, and nothing would tell.
    const bool elsewhere =
        std::any_of(hosts.begin(), hosts.end(), [](const std::string& host) { return !is_loopback(host); });
    if (elsewhere && manager.name != records::journal::host_name()) std::erase_if(hosts, is_loopback);
    hosts.resize(std::min(hosts.size(), most_record_hosts));
    return hosts;
}

}  // namespace

std::string wire_of_record() {
    return "work_queue/" + std::to_string(messages::protocol_version);
}

bool is_loopback(const std::string& host) {
    return host == "::1" || host == "localhost" || host.starts_with("localhost.") || host.starts_with("127.");
}

bool is_of_manager(const Json& record) {
    const std::string type = record.is_object() ? text_in(record, "type") : std::string();
    return type == "wq_master" || type == "wq_manager";
}

bool is_project_name(const std::string& text) {
    if (text.empty() || text.size() > most_project_bytes) return false;
    unsigned char before = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool control = byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte < 0xa0);
        if (control) return false;
        before = byte;
    }
    // Printed, it loses what is not UTF-8.
    const std::string printed = Json(text).dump();
    return Json::parse(printed) == Json(text);
}

std::optional<ManagerRecord> read_manager_record(const Json& record) {
    if (!is_of_manager(record)) return std::nullopt;
    ManagerRecord manager;
    manager.project = text_in(record, "project");
    manager.wire = text_in(record, wire_member);
    manager.address = text_in(record, "address");
    manager.name = text_in(record, "name");
    manager.owner = text_in(record, "owner");
    const std::int64_t port = integer_in(record, "port");
    if (!is_project_name(manager.project) || manager.wire.size() > most_wire_bytes || port < 1 ||
        port > 65535 || !read_interfaces(record, manager.interfaces))
        return std::nullopt;
    if (!manager.address.empty() && !is_address(manager.address)) return std::nullopt;
    if (!manager.name.empty() && !is_address(manager.name) && !is_host_name(manager.name))
        return std::nullopt;
    manager.port = static_cast<std::uint16_t>(port);
    manager.hosts = in_order(manager, text_in(record, "manager_preferred_connection"));
    if (manager.hosts.empty()) return std::nullopt;
    const Json* const ssl = record.find("ssl");
    manager.ssl = ssl != nullptr && (*ssl == true || *ssl == 1);
    manager.priority = integer_in(record, "priority");
    manager.waiting = count_in(record, "tasks_waiting");
    manager.on_workers = count_in(record, "tasks_on_workers");
    manager.left = count_in(record, "tasks_left");
    manager.workers = std::min(count_in(record, "workers"), most_record_workers);
    manager.total_cores = amount_in(record, "tasks_total_cores");
    manager.total_memory_mb = amount_in(record, "tasks_total_memory");
    manager.total_disk_mb = amount_in(record, "tasks_total_disk");
    manager.total_gpus = amount_in(record, "tasks_total_gpus");
    manager.heard =
        std::clamp<std::int64_t>(integer_in(record, "lastheardfrom"), 0, wall_now() / micros_per_second);
    return manager;
}

}  // namespace wq::net::contact
