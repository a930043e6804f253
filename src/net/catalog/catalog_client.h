// The catalog servers that a user named, what they are asked, and what they are told. Without a name there
// are none, and nothing is sent anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/catalog/jx.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::catalog {

inline constexpr std::uint16_t default_catalog_port = 9097;

using CatalogHosts = std::vector<frames::HostPort>;

// "HOST[:PORT],HOST[:PORT]"; empty: none. Entries without a port have $CATALOG_PORT, else 9097. Error
// (usage): no such list.
Result<CatalogHosts> read_catalog_hosts(const std::string& text);

// `option` (of --catalog), else `variable`, by default $CATALOG_HOST.
Result<CatalogHosts> named_catalog_hosts(const std::string& option);
Result<CatalogHosts> named_catalog_hosts(const std::string& option, const std::string& variable);

// "HOST:PORT,HOST:PORT", for read_catalog_hosts() and messages.
std::string to_text(const CatalogHosts& hosts);

// When a conversation with a server is over.
struct WaitLimit {
    Instant until{};
    int stop = -1;  // once this descriptor is readable, it is over
};

// Waits until `descriptor` is ready for `events` of poll(). Error unreachable: `what` took too long;
// interrupted.
Status wait_for(int descriptor, short events, const WaitLimit& limit, const std::string& what);

// One short conversation with a server: its name is looked up, the request written, and what it answers read
// until it closes. Errors (unreachable) name the host.
Result<std::vector<frames::SocketAddress>> look_up(const frames::HostPort& host, const WaitLimit& limit);
Result<std::string> converse(const frames::HostPort& host, std::string_view request, std::size_t most_bytes,
                             const WaitLimit& limit);

// Asks catalog servers for records.
class CatalogClient {
  public:
    explicit CatalogClient(CatalogHosts hosts, std::size_t most_answer_bytes = std::size_t{64} << 20)
        : hosts_(std::move(hosts)), most_answer_bytes_(most_answer_bytes) {}

    enum class Rounds : std::uint8_t { one, repeated };

    // The records for which `where` (a JX expression; empty: all) is true, of the first host that answers:
    // those that failed before come last, each has 5 s; then, unless there is one round, all again, after
    // 1, 2, 4 ... s, until `until`.
    // Call it on a thread that may wait; it returns once the descriptor `stop` is readable. Errors:
    // bad_input: no expression; unreachable: nobody answered in time, with the reason of each; interrupted.
    Result<std::vector<Json>> query(const std::string& where, Instant until, int stop = -1,
                                    Rounds rounds = Rounds::repeated);
    // When the last answer was made, by its server's clock.
    std::optional<WallMicros> answered_at() const { return answered_at_; }

  private:
    CatalogHosts hosts_;
    std::size_t most_answer_bytes_;
    std::set<std::size_t> failing_;
    std::optional<WallMicros> answered_at_;
};

// The records of a server's answer: a JSON array of objects, behind the lines of HTTP. Error (unreachable):
// the server refuses, or this is no such answer.
Result<std::vector<Json>> records_of_answer(std::string_view answer);

// Its Date, if that is in GMT; CCTools' server has the local time of an unknown zone.
std::optional<WallMicros> date_of_answer(std::string_view answer);

std::string base64_of(std::string_view bytes);
// Error bad_input: no such text.
Result<std::string> bytes_of_base64(std::string_view text);

// Sends a record to catalog servers.
struct UpdateWay {
    bool by_udp = false;            // else by TCP, at the next port
    std::size_t compressed = 1200;  // bytes from which a datagram is compressed
};
// $CATALOG_UPDATE_PROTOCOL (tcp, udp) and $CATALOG_UPDATE_LIMIT. Error (usage): another protocol, no number.
Result<UpdateWay> update_way_of_environment();

inline constexpr Duration update_limit = std::chrono::seconds(15);

// To every host, one after the other, each with `limit` at most: call it on a thread that may wait.
// `lean` is sent in place of a record that is too large for a datagram. Error (unreachable): none took it,
// with the reason of each; interrupted: by `stop`, a descriptor. A datagram that is lost is no error.
Status send_update(const CatalogHosts& hosts, const Json& record, const UpdateWay& way,
                   const Json* lean = nullptr, int stop = -1, Duration limit = update_limit);

}  // namespace wq::net::catalog
