// The manager's end of TCP: listens, and has many peers. Joined comes once a peer has shown that it has the
// key (at once where there is none); its number is new, also when the same worker comes again. One thread
// owns all sockets: keep-alives and handshakes go on however long the caller computes between two poll()s.
// The caller's calls are of one thread.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/tcp_options.h"
#include "transport/transport.h"

namespace wq::transport {

struct TcpListenOptions {
    // The first free port from low to high; both 0: any free one. The same for all addresses.
    std::uint16_t low_port = 0;
    std::uint16_t high_port = 0;
    std::vector<std::string> bind;  // numeric addresses; none: all of this machine, IPv4 and IPv6
    // That listen already, all on one port: duplicates of them are used, in place of the ports and addresses
    // above.
    std::vector<int> sockets;
    std::string key;  // empty: open to everybody who can reach the port
    std::optional<TlsIdentity> tls;
    TcpLimits limits;
    // Beyond, and beyond a quarter of the open files that are allowed, the oldest unfinished one is dropped.
    std::size_t most_handshakes = 4096;
};

struct TcpListenCounts {
    std::uint64_t accepted = 0;
    std::uint64_t joined = 0;
    std::uint64_t refused = 0;  // wrong key, other version, no handshake in time, garbage before Joined
    std::uint64_t busy = 0;     // sent away because no descriptor was left
};

class TcpListener : public Transport {
  public:
    // Raises the soft limit of open files to the hard one; some of them no peer gets: they are for the files
    // of this process. Errors (unreachable): the port is in use, which names the remedy, no port of the range
    // is free, or no descriptor, thread or memory is left; not_allowed: the port needs privileges; bad_input:
    // a key or certificate that cannot be used.
    static Result<std::unique_ptr<TcpListener>> open(TcpListenOptions options);

    // From now on, instead of TcpLimits::keep_alive and silence; also of peers that are there.
    virtual void set_keep_alive(Duration keep_alive, Duration silence) = 0;
    virtual std::uint16_t port() const = 0;
    virtual std::string certificate_print() const = 0;  // SHA-256 in hex; empty without TLS
    virtual TcpListenCounts counts() const = 0;
    // RLIMIT_NOFILE as it was before: what tasks are to get.
    virtual rlimit original_file_limit() const = 0;
};

// All numeric addresses of this machine by which others may reach it, those of the loopback last.
// Link-local ones of IPv6 are left out: they mean nothing elsewhere.
std::vector<std::string> own_addresses();

}  // namespace wq::transport
