// The catalog servers that a user named. Without a name there are none, and nothing is sent anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::catalog {

inline constexpr std::uint16_t default_catalog_port = 9097;

using CatalogHosts = std::vector<frames::HostPort>;

// "HOST[:PORT],HOST[:PORT]"; empty: none. Entries without a port have $CATALOG_PORT, else 9097. Error
// (usage): no such list.
Result<CatalogHosts> read_catalog_hosts(const std::string& text);

// `option` (of --catalog), else `variable`, by default $CATALOG_HOST.
Result<CatalogHosts> named_catalog_hosts(const std::string& option);
Result<CatalogHosts> named_catalog_hosts(const std::string& option, const std::string& variable);

// "HOST:PORT,HOST:PORT", for read_catalog_hosts() and messages.
std::string to_text(const CatalogHosts& hosts);

}  // namespace wq::net::catalog
