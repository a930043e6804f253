// Connection events for a debug log; bounded, so nobody has to read them.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/frames/transport.h"

namespace wq::net::frames {

class NoteBook {
  public:
    static constexpr std::size_t most = 1000;

    // Callable from any thread.
    void put(std::string_view subsystem, std::string text, bool refusal = false) {
        const std::lock_guard lock(mutex_);
        if (notes_.size() < most)
            notes_.push_back({subsystem, std::move(text), refusal});
        else
            ++lost_;
    }
    std::vector<Note> take() {
        const std::lock_guard lock(mutex_);
        if (lost_ > 0) notes_.push_back({"tcp", "and " + std::to_string(lost_) + " more such lines", false});
        lost_ = 0;
        return std::exchange(notes_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<Note> notes_;
    std::size_t lost_ = 0;
};

// Options of both ends of a TCP connection: limits, keys and identities.
struct HostPort {
    std::string host;  // a name, or a numeric address without brackets
    std::uint16_t port = 0;
    bool operator==(const HostPort&) const = default;
};

// "node3:9123", "10.0.0.7:9123", "[fe80::1%eth0]:9123".
std::string to_text(const HostPort& address);

// "host:port", or several separated by ';'. `default_port` applies to entries without a port; if it is 0,
// they are an error (usage), as are empty hosts, ports outside 1..65535 and unbalanced brackets. An IPv6
// address with a port needs brackets.
Result<std::vector<HostPort>> parse_addresses(const std::string& text, std::uint16_t default_port = 0);

// Tests use shorter times.
struct TcpLimits {
    Duration keep_alive = std::chrono::seconds(1);  // an empty frame is sent after this time without another
    Duration silence = std::chrono::seconds(30);    // a peer that sent nothing for this time is lost
    Duration handshake = std::chrono::seconds(10);  // from connecting to Joined
    // A peer is disconnected if more than most_unsent bytes wait for it and it took none for this time.
    Duration stalled = std::chrono::seconds(90);
    // How long a closed peer may take to receive frames sent before.
    Duration linger = std::chrono::seconds(5);
    // The same when the transport is destroyed.
    Duration goodbye = std::chrono::milliseconds(300);

    // Longer frames end the connection. Memory grows with received bytes, not with announced ones. Before
    // Joined the limit is 4 KiB, and from then until a manager's admit() the second one: it fits the hello of
    // a reconnecting worker with 10,000 functions and 20,000 leases.
    std::size_t most_frame_bytes = std::size_t{1} << 30;
    std::size_t most_frame_bytes_before_admit = std::size_t{4} << 20;
    // Memory of incomplete frames over all peers. Above it one peer at a time continues its frame and the
    // others wait; each exceeds the limit by at most 128 KiB. A peer that delivers less than 64 KiB a second
    // does not delay the others; when such peers hold this much again, the largest is disconnected.
    std::size_t most_half_received_bytes = std::size_t{1} << 30;
    std::size_t most_unsent_bytes = std::size_t{64} << 20;
    // A peer is not read while it, or all peers together, have this much waiting for poll().
    std::size_t most_undelivered_bytes = std::size_t{16} << 20;
    std::size_t most_undelivered_bytes_of_all = std::size_t{256} << 20;
};

// Told to those who ask for the status in plain text.
inline constexpr const char* ask_with_the_key =
    "this manager tells its status only to those who have its key, or speak its protocol: use "
    "work_queue_status of work_queue, with --contact FILE or --password FILE if it has a key";

// The manager's key and certificates in PEM (tls_identity.h creates and reads them).
struct TlsIdentity {
    std::string key_pem;
    std::string certificate_pem;  // its own first, then those of intermediate authorities
};

// How a worker checks the manager's certificate.
struct TlsTrust {
    enum class By {
        digest,   // `value` is the SHA-256 of the certificate in hex, from the contact file
        ca_file,  // `value` is a file of PEM certificates; the certificate must also name the requested host
        unverified,  // encrypted, but the peer is unknown, unless both have a key (which is bound to the
                     // channel)
    };
    By by = By::unverified;
    std::string value;
};

}  // namespace wq::net::frames
