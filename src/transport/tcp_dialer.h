// The worker's end of TCP: one peer, the manager, by whichever of its addresses answers first. Connecting
// goes on by itself; poll() then gives either Joined, or Left whose `why` has one line per address tried. It
// connects once: who wants to try again makes a new one, when Backoff (backoff.h) says so.
//
// An address takes part in the race `stagger` after the one before, or at once when that one failed, also if
// its name is resolved while others run; the first whose handshake succeeds wins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/tcp_options.h"
#include "transport/transport.h"

namespace wq::transport {

struct TcpDialOptions {
    std::vector<HostPort> managers;
    std::string key;              // empty: none; a manager that has one then refuses
    std::optional<TlsTrust> tls;  // none: without TLS
    TcpLimits limits;
    Duration stagger = std::chrono::milliseconds(250);
    Duration connect = std::chrono::seconds(15);  // an address that has not answered is given up
};

class TcpDialer : public Transport {
  public:
    static constexpr PeerId manager{0};

    // Returns at once. What cannot work (a CA file that does not read) is told by Left, too. Error
    // (unreachable): no descriptor, thread or memory is left to begin with; try again later.
    static Result<std::unique_ptr<TcpDialer>> open(TcpDialOptions options);

    // Why it ended, once Left came. The code says what to do: `unreachable`: try again later; `not_allowed`:
    // every address that answered at all refused us (key, version, certificate), trying again is no use.
    virtual std::optional<Error> failure() const = 0;

    // Once Joined, one line: "TLS 1.3, certificate checked by its print, key", "no TLS, no key".
    virtual std::string security() const = 0;
    // Once Joined: this end of the connection, "10.0.0.7:40112".
    virtual std::string local_address() const = 0;
    // Once Joined: when the manager's last bytes reached this machine, however late they are read.
    virtual Heard heard() const = 0;
};

}  // namespace wq::transport
