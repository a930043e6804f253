// The catalog server: holds records, and answers queries, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/catalog/catalog_client.h"
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

// What a catalog server is told at its start.
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

class CatalogServer {
  public:
    // Listens. `say` gets what an administrator should know, in lines. Errors: bad_input: certificate or key;
    // unreachable, not_allowed: an address or port cannot be had.
    static Result<CatalogServer> open(ServerSettings settings, std::function<void(const std::string&)> say);
    CatalogServer(CatalogServer&&) noexcept;
    ~CatalogServer();

    std::uint16_t port() const;
    std::uint16_t ssl_port() const;  // 0: none

    // Until the descriptor `stop` is readable.
    void run(int stop);

  private:
    struct State;
    explicit CatalogServer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace wq::net::catalog_server
