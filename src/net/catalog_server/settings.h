// What a catalog server is told at its start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/catalog/catalog_hosts.h"
#include "net/catalog/record_table.h"
#include "net/catalog_server/guests.h"
#include "net/catalog_server/history_log.h"

namespace wq::net::catalog_server {

// Strangers connect: what each may hold is limited.
struct GuestLimits {
    // Queries and updates have these limits separately; updates have no answers. Silent guests have at most
    // an eighth of the descriptors that the process may have, answered guests a half.
    GuestCounts most{.silent = 512, .answered = 4096, .bytes = 32 << 20};
    Duration request = std::chrono::seconds(10);  // for the whole request
    Duration update = std::chrono::seconds(15);   // for the whole update
    Duration piece = std::chrono::seconds(10);    // for each 64 KiB of an answer
    Duration answer = std::chrono::minutes(10);   // for all of it
};

struct ServerSettings {
    std::vector<std::string> interfaces;                 // addresses; empty: all of this machine
    std::uint16_t port = catalog::default_catalog_port;  // 0: any; updates by TCP have the next one
    bool ssl = false;
    std::uint16_t ssl_port = 0;  // 0: any
    std::string ssl_certificate, ssl_key;
    std::string name;  // shown on pages
    std::string version, owner;
    catalog::TableLimits table;
    GuestLimits guests;
    std::string history;  // a folder; empty: none, and a restart forgets all records
    HistoryLimits history_limits;
    catalog::CatalogHosts upstream;  // are told of this server
    Duration upstream_every = std::chrono::minutes(5);
};

}  // namespace wq::net::catalog_server
