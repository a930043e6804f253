// Sends a record to catalog servers.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/catalog/catalog_hosts.h"
#include "net/catalog/jx.h"
#include "net/catalog/query.h"

namespace wq::net::catalog {

struct UpdateWay {
    bool by_udp = false;            // else by TCP, at the next port
    std::size_t compressed = 1200;  // bytes from which a datagram is compressed
};
// $CATALOG_UPDATE_PROTOCOL (tcp, udp) and $CATALOG_UPDATE_LIMIT. Error (usage): another protocol, no number.
Result<UpdateWay> update_way_of_environment();

inline constexpr Duration update_patience = std::chrono::seconds(15);

// To every host, one after the other, each with `patience` at most: call it on a thread that may wait.
// `lean` is sent in place of a record that is too large for a datagram. Error (unreachable): none took it,
// with the reason of each; interrupted: by `stop`, a descriptor. A datagram that is lost is no error.
Status send_update(const CatalogHosts& hosts, const Json& record, const UpdateWay& way,
                   const Json* lean = nullptr, int stop = -1, Duration patience = update_patience);

}  // namespace wq::net::catalog
