// TCP connections: their addresses, limits and identities, and their sockets for system calls.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "net/frames/transport.h"

namespace wq::net::frames {

// Connection events for a debug log; bounded, so nobody has to read them.
class NoteBook {
  public:
    static constexpr std::size_t most = 1000;

    // Callable from any thread.
    void add_note(std::string_view subsystem, std::string text) { add({subsystem, std::move(text)}); }
    void add_refusal(std::string text) { add({"auth", std::move(text), true}); }
    std::vector<Note> take() {
        const std::lock_guard lock(mutex_);
        if (lost_ > 0) notes_.push_back({"tcp", "and " + std::to_string(lost_) + " more such lines"});
        lost_ = 0;
        return std::exchange(notes_, {});
    }

  private:
    void add(Note note) {
        const std::lock_guard lock(mutex_);
        if (notes_.size() < most)
            notes_.push_back(std::move(note));
        else
            ++lost_;
    }

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

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
    bool same_as(const SocketAddress& other) const;
};

// "10.0.0.7:40112", "[::1]:9123"; an IPv4 address inside IPv6 is written as IPv4.
std::string to_text(const SocketAddress& address);
std::uint16_t port_of(const SocketAddress& address);
std::string host_of(const SocketAddress& address);  // the same without port and brackets
std::string local_address_of(int descriptor);       // empty: disconnected
bool is_within_machine(int descriptor);             // both ends are here

// May query name servers, and blocks. Errors (unreachable) quote the resolver.
Result<std::vector<SocketAddress>> resolve(const HostPort& from);
bool is_numeric(const std::string& host);  // resolve() does not block for it

// Small frames are sent at once, and dead peers are noticed even if our own keep-alives pile up unsent.
void prepare_socket(int descriptor, const TcpLimits& limits);

// When its last bytes reached this machine, read or not.
Instant last_arrival(int descriptor);

// After this, close() discards unsent data and retransmits nothing.
void drop_on_close(int descriptor);

// A non-blocking socket connecting to `address`, or -1 with errno.
int connect_to(const SocketAddress& address, const TcpLimits& limits);

// Listening sockets, all on the same port. Errors as TcpListener::open.
struct ListeningSockets {
    std::vector<Descriptor> descriptors;
    std::uint16_t port = 0;
};
Result<ListeningSockets> listen_on(const std::vector<std::string>& bind, std::uint16_t low_port,
                                   std::uint16_t high_port);
// Duplicates of listening sockets; they share the queue of waiting connections. Error (usage): one does not
// listen.
Result<ListeningSockets> listen_with(const std::vector<int>& sockets);

}  // namespace wq::net::frames
