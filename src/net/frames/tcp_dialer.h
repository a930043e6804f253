// Resolves names without blocking: each name on its own thread, because the resolver may take half a minute
// and cannot be stopped. Answers after the destructor are dropped.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/frames/tcp_socket.h"
#include "net/frames/transport.h"

namespace wq::net::frames {

using Resolved = Result<std::vector<SocketAddress>>;

class TcpResolver {
  public:
    // `answer` is called on any thread, once for each resolve(), with its index.
    explicit TcpResolver(std::function<void(std::size_t, Resolved)> answer);
    ~TcpResolver();

    void resolve(std::size_t index, const HostPort& from);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

// The worker's end of TCP: one peer, the manager, at the first of its addresses that answers. Connecting
// needs no calls; poll() then returns either Joined, or Left whose `why` has one line per address tried. It
// connects once: to retry, create a new one when Backoff (backoff.h) says so.
//
// Each address is tried `stagger` after the one before, or at once when that failed. Names are resolved while
// other attempts run; the first successful handshake wins.
struct TcpDialOptions {
    std::vector<HostPort> managers;
    std::string key;              // empty: none; a manager with a key then refuses
    std::optional<TlsTrust> tls;  // nullopt: no TLS
    TcpLimits limits;
    Duration stagger = std::chrono::milliseconds(250);
    Duration connect = std::chrono::seconds(15);  // per address
};

// Errors of a dialer have a line for each address.
std::string in_one_line(std::string lines);

class TcpDialer : public Transport {
  public:
    static constexpr PeerId manager{0};

    // Returns at once. Errors: bad_input: the CA file is unreadable or has no certificate; unreachable: no
    // descriptor, thread or memory is left; retry later.
    static Result<std::unique_ptr<TcpDialer>> open(TcpDialOptions options);

    // Why it ended, after Left. The code says what to do: `unreachable`: retry later; `not_allowed`: every
    // address that answered refused us (key, version, certificate), so retrying is useless.
    virtual std::optional<Error> failure() const = 0;

    // After Joined, one line: "TLS 1.3, certificate checked by its digest, key", "no TLS, no key".
    virtual std::string security() const = 0;
    // After Joined: this end of the connection, "10.0.0.7:40112".
    virtual std::string local_address() const = 0;
    // After Joined: when the manager's last bytes reached this machine, even if not yet read.
    virtual Heard last_heard() const = 0;
};

}  // namespace wq::net::frames
