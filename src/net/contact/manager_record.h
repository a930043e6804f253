// A manager's record in a catalog: CCTools' keys, and "wire", which only our managers have. Anyone may have
// written it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "net/catalog/jx.h"

namespace wq::net::contact {

// Workers connect only to managers whose record has this member with the value of wire_of_record(): CCTools'
// managers speak another protocol.
inline constexpr const char* wire_member = "wire";
std::string wire_of_record();  // "work_queue/" and our protocol's version

// The manager's host may have many addresses.
inline constexpr std::size_t most_record_hosts = 16;
inline constexpr std::size_t most_project_bytes = 255;
inline constexpr std::uint64_t most_record_workers = 1'000'000;

struct ManagerRecord {
    std::string project;
    std::string wire;  // empty: a manager of CCTools
    std::uint16_t port = 0;
    std::vector<std::string> hosts;       // to try in this order
    std::vector<std::string> interfaces;  // numeric; those of `hosts` that the manager gave itself
    std::string address;                  // numeric; from where the catalog server got the record
    std::string name;                     // of the host; the server may have replaced it
    std::string owner;
    bool ssl = false;
    std::int64_t priority = 0;
    std::uint64_t waiting = 0;     // tasks
    std::uint64_t on_workers = 0;  // tasks
    std::uint64_t left = 0;        // tasks that the program says are still to come; 0: it does not say
    std::uint64_t workers = 0;     // connected; at most most_record_workers
    // Needs of its tasks, waiting and on workers, together; 0: they say none.
    std::uint64_t total_cores = 0, total_memory_mb = 0, total_disk_mb = 0, total_gpus = 0;
    std::int64_t heard = 0;  // when the server got the record, s since 1970; by our clock not in the future

    bool operator==(const ManagerRecord&) const = default;
};

// Whether it announces a manager ("wq_master", or "wq_manager").
bool is_of_manager(const Json& record);

// nullopt: it is not a manager's, or a part that we need is missing, no address or name of a host, or out of
// bounds.
std::optional<ManagerRecord> read_manager_record(const Json& record);

// It means another host on each host: an address, or "localhost".
bool is_loopback(const std::string& host);

// A name of at most 255 bytes of UTF-8 without control characters.
bool is_project_name(const std::string& text);

}  // namespace wq::net::contact
