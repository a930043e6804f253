// The catalog server: holds records, and answers queries, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/catalog_server/settings.h"

namespace wq::net::catalog_server {

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
