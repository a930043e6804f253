// A program's manager on TCP: which port, with which key, and how workers are told.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "listening/open_port.h"
#include "net/tcp_socket.h"
#include "work_queue/manager.h"

namespace wq::api {

// In seconds, as tune() has them.
struct KeepAlive {
    double interval = 30;
    double timeout = 60;
};

struct Listening {
    listening::OpenPort port;  // its listener moves to the manager's thread
    std::string warning;       // where it is open to everybody: for when the manager is there
};

// As getenv: null when unset.
using Variables = std::function<const char*(const char*)>;

// First and last port to try. Errors (usage): no port, or a range upside down.
struct PortRange {
    std::uint16_t low = 0;
    std::uint16_t high = 0;
};
Result<PortRange> ports_of(const ManagerOptions& options, const Variables& variables);

// For so long who is cut off is waited for. Error (usage): too short.
Result<Duration> away_limit_of(const ManagerOptions& options);

// When a link that is idle is used, and when a peer that is silent is lost: by what workers do, no sooner
// than after 90 s.
void set_keep_alive(net::TcpLimits& limits, const KeepAlive& wanted, Duration away_limit);

// `say` gets what the entry in the registry has to say. Errors: a port in use, files that cannot be used,
// not_allowed where a key is required and there is none or the name cannot be registered.
Result<Listening> listen(const ManagerOptions& options, const std::function<void(const std::string&)>& say,
                         const Variables& variables);
Result<Listening> listen(const ManagerOptions& options, const std::function<void(const std::string&)>& say);

// A port that is listened on before its manager is there: who connects meanwhile waits for it.
struct HeldPort {
    std::vector<net::OwnedDescriptor> sockets;
    int port = 0;

    std::vector<int> descriptors() const;  // for ManagerOptions::sockets
};

// That of `port` and `port_range`. Errors: as of a manager's start.
Result<HeldPort> hold_port(const ManagerOptions& options);

}  // namespace wq::api
