// The manager's end of TCP: listens and has many peers. Joined follows once a peer has proved that it has the
// key (at once without a key); its PeerId is new, also after a reconnection. One thread owns all sockets, so
// keep-alives and handshakes continue however long the caller computes between two poll()s. All calls come
// from one thread.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/frames/tcp_socket.h"
#include "net/frames/transport.h"

namespace wq::net::frames {

struct TcpListenOptions {
    // The first free port in this range; both 0: any free one. The same port for all addresses.
    std::uint16_t low_port = 0;
    std::uint16_t high_port = 0;
    std::vector<std::string> bind;  // numeric addresses; empty: all of this machine, IPv4 and IPv6
    // Sockets that already listen, all on one port: duplicates of them replace the ports and addresses above.
    std::vector<int> sockets;
    std::string key;  // empty: open to everybody who can reach the port
    std::optional<TlsIdentity> tls;
    TcpLimits limits;
    // Empty: questions in plain text (http_request.h) are delivered; else their peers are told this.
    std::string plain_refusal = ask_with_the_key;
    // Above this, or above a quarter of the allowed open files, the oldest unfinished handshake is dropped.
    std::size_t most_handshakes = 4096;
};

struct TcpListenCounts {
    std::uint64_t accepted = 0;
    std::uint64_t joined = 0;
    std::uint64_t asked = 0;    // in plain text, and were let
    std::uint64_t refused = 0;  // wrong key, other version, handshake timeout, garbage before Joined
    std::uint64_t busy = 0;     // rejected because no descriptor was left
};

class TcpListener : public Transport {
  public:
    // Raises the soft limit of open files to the hard one; reserves some for this process's files. Errors
    // (unreachable): the port is in use (with a remedy), no port of the range is free, or no descriptor,
    // thread or memory is left; not_allowed: the port needs privileges; bad_input: an unusable key or
    // certificate.
    static Result<std::unique_ptr<TcpListener>> open(TcpListenOptions options);

    // From now on, instead of TcpLimits::silence; applies to existing peers too.
    virtual void set_silence(Duration silence) = 0;
    // From now on, instead of TcpListenOptions::key. Ends all links and handshakes that began with another
    // one.
    virtual void set_key(std::string key) = 0;
    // From now on, instead of TcpListenOptions::plain_refusal.
    virtual void set_plain_refusal(std::string why) = 0;
    virtual std::uint16_t port() const = 0;
    virtual std::string certificate_digest() const = 0;  // SHA-256 in hex; empty without TLS
    virtual TcpListenCounts counts() const = 0;
};

// All numeric addresses of this machine that others may reach, loopback ones last. Link-local IPv6 addresses
// are omitted: they mean nothing elsewhere.
std::vector<std::string> own_addresses();

}  // namespace wq::net::frames
