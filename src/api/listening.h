// A program's manager on TCP: chooses the port and the key, and publishes the address to workers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/contact/open_port.h"
#include "net/frames/tcp_socket.h"
#include "work_queue/manager.h"

namespace wq::api {

// In seconds, as in tune().
struct KeepAlive {
    double interval = 1;
    double timeout = 29;
};

struct Listening {
    net::contact::OpenPort port;  // its listener moves to the manager's thread
    std::string warning;          // if the manager is open to everybody; said once the manager exists
    std::string worker;           // command that starts a worker
    bool lists = true;            // as StatusDoor
};

// Whether the key is made for a contact file.
bool generates_key(const ManagerOptions& options);

// Whether workers use TLS.
bool uses_tls(const ManagerOptions& options);

// The password, or the key of a contact file; "": open to everybody. Error: the file cannot be used, or both
// are given.
Result<std::string> key_of(const ManagerOptions& options, const std::function<void(const std::string&)>& say);

// Whom the port answers that asks for the status.
struct StatusDoor {
    std::string plain_refusal;  // as net::frames::TcpListenOptions
    bool lists = true;          // to those who have joined as a worker does
};
// Error (usage): no such word.
Result<StatusDoor> status_door(const std::string& word, bool has_key);

// Starts a worker for a manager with these options, and what else there is to know.
std::string command_of_worker(const ManagerOptions& options, int port);

// Like getenv: null if unset.
using Variables = std::function<const char*(const char*)>;

// Errors (usage): no such preferred_connection; no list of catalog servers; tasks_left below 0.
Status check_description(const ManagerOptions& options);

// First and last port to try. Errors (usage): no port, or low above high.
struct PortRange {
    std::uint16_t low = 0;
    std::uint16_t high = 0;
};
Result<PortRange> ports_of(const ManagerOptions& options, const Variables& variables);

// How long the manager waits for a disconnected worker. Error (usage): too short.
Result<Duration> disconnect_limit_of(const ManagerOptions& options);

// After which silence a peer is lost: at least 30 s, so that a loaded machine or a short failure of the
// network loses nobody.
Duration silence_of(const KeepAlive& wanted);

// `say` gets the messages of the registry entry. Errors: a port in use, unusable files; not_allowed if a key
// is required and missing, or if the name cannot be registered.
Result<Listening> listen(const ManagerOptions& options, const std::function<void(const std::string&)>& say,
                         const Variables& variables);
Result<Listening> listen(const ManagerOptions& options, const std::function<void(const std::string&)>& say);

// A port that listens before its manager exists: workers that connect early wait for the manager.
struct HeldPort {
    std::vector<Descriptor> sockets;
    int port = 0;

    std::vector<int> descriptors() const;  // for ManagerOptions::sockets
};

// Opens `port` or `port_range` at these numeric addresses, or at all of this machine. Errors: the same as at
// a manager's start.
Result<HeldPort> hold_port(const ManagerOptions& options, const std::vector<std::string>& addresses = {});

}  // namespace wq::api
