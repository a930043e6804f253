// What both ends of a TCP connection are told: limits, keys and identities.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace wq::transport {

struct HostPort {
    std::string host;  // a name, or a numeric address without brackets
    std::uint16_t port = 0;
    bool operator==(const HostPort&) const = default;
};

// "node3:9123", "10.0.0.7:9123", "[fe80::1%eth0]:9123".
std::string to_text(const HostPort& address);

// "host:port", or several with ';' between them. `default_port` is for those without a port; 0: that is an
// error (usage), as are empty hosts, ports outside 1..65535 and brackets that do not match. An IPv6 address
// with a port needs its brackets.
Result<std::vector<HostPort>> parse_addresses(const std::string& text, std::uint16_t default_port = 0);

// Tests scale the times down.
struct TcpLimits {
    Duration keep_alive = std::chrono::seconds(30);  // an empty frame after so long without any other
    Duration silence = std::chrono::seconds(90);     // a peer of which nothing came for so long is lost
    Duration handshake = std::chrono::seconds(10);   // from the connection to Joined
    // A peer is cut that has more than most_unsent bytes to take and took none for so long.
    Duration stalled = std::chrono::seconds(90);
    // What a closed peer gets to take the frames sent before.
    Duration linger = std::chrono::seconds(5);
    // As long the destructor waits for the same.
    Duration goodbye = std::chrono::milliseconds(300);

    // Longer frames end the connection. Memory grows as bytes arrive, not as they are announced. Before
    // Joined the bound is 4 KiB, and from then until a manager's admit() the second one: the hello of a
    // worker with 10,000 functions that comes back with 20,000 leases fits.
    std::size_t most_frame_bytes = std::size_t{1} << 30;
    std::size_t most_frame_bytes_of_strangers = std::size_t{4} << 20;
    // Memory of frames that have not yet come whole, of all peers together. Beyond it one peer at a time goes
    // on with its frame and the others wait; what each has beyond it is at most 128 KiB. Who brings less than
    // 64 KiB in a second is not waited for; when such ones hold as much again, the largest is cut.
    std::size_t most_half_received_bytes = std::size_t{1} << 30;
    std::size_t most_unsent_bytes = std::size_t{64} << 20;
    // Nothing more is read of a peer while so much of it, or of all, waits for poll().
    std::size_t most_undelivered_bytes = std::size_t{16} << 20;
    std::size_t most_undelivered_bytes_of_all = std::size_t{256} << 20;
};

// The manager's, in PEM (tls_identity.h makes and reads them).
struct TlsIdentity {
    std::string key_pem;
    std::string certificate_pem;  // its own first, then those of the authorities between
};

// How a worker checks the manager's certificate.
struct TlsTrust {
    enum class By {
        print,    // `value` is the SHA-256 of the certificate in hex, from the contact file
        ca_file,  // `value` is a file of PEM certificates; the certificate must also name the host asked for
        unverified,  // encrypted, but to whom is not known: unless both have a key, which is bound to it
    };
    By by = By::unverified;
    std::string value;
};

}  // namespace wq::transport
