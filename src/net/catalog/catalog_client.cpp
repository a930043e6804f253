#include "net/catalog/catalog_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <mutex>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/units.h"
#include "net/catalog/record.h"
#include "net/frames/tcp_dialer.h"

namespace wq::net::catalog {

namespace {

Error unreachable(const std::string& what) {
    return {ExitCode::unreachable, what};
}
Error failed(const std::string& what, int error = errno) {
    return unreachable(what + ": " + std::strerror(error));
}

Result<Descriptor> connected(const frames::SocketAddress& address, const WaitLimit& limit,
                             const std::string& name) {
    Descriptor socket(frames::connect_to(address, {}));
    if (socket.get() < 0) return failed(name);
    if (const Status ready = wait_for(socket.get(), POLLOUT, limit, name); !ready) return ready.error();
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return failed(name, error);
    return socket;
}

Status write_to(int socket, std::string_view bytes, const WaitLimit& limit, const std::string& name) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            if (const Status ready = wait_for(socket, POLLOUT, limit, name); !ready) return ready;
        } else if (errno != EINTR) {
            return failed(name);
        }
    }
    return success();
}

Result<std::string> read_from(int socket, std::size_t most_bytes, const WaitLimit& limit,
                              const std::string& name) {
    std::string text;
    std::array<char, 1 << 16> part;
    for (;;) {
        const ssize_t count = ::recv(socket, part.data(), part.size(), 0);
        if (count == 0) return text;
        if (count > 0) {
            text.append(part.data(), static_cast<std::size_t>(count));
            if (text.size() > most_bytes) return unreachable(name + ": its answer is too long");
        } else if (errno == EAGAIN) {
            if (const Status ready = wait_for(socket, POLLIN, limit, name); !ready) return ready.error();
        } else if (errno != EINTR) {
            return failed(name);
        }
    }
}

}  // namespace

Status wait_for(int descriptor, short events, const WaitLimit& limit, const std::string& what) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit.until - instant_now()).count();
        std::array<pollfd, 2> watched{{{descriptor, events, 0}, {limit.stop, POLLIN, 0}}};
        const int ready = ::poll(watched.data(), watched.size(),
                                 static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
        if (watched[1].revents != 0) return Error{ExitCode::interrupted, what + ": interrupted"};
        if (watched[0].revents != 0) return success();
        if (ready < 0 && errno != EINTR) return failed(what);
        if (left <= 0) return unreachable(what + ": it does not answer in time");
    }
}

Result<std::vector<frames::SocketAddress>> look_up(const frames::HostPort& host, const WaitLimit& limit) {
    const std::string name = frames::to_text(host);
    const Wake ready;
    if (!ready.valid()) return failed(name);
    std::mutex mutex;
    frames::Resolved found = std::vector<frames::SocketAddress>{};
    frames::TcpResolver resolver([&](std::size_t, frames::Resolved answer) {
        const std::lock_guard lock(mutex);
        found = std::move(answer);
        ready.set();
    });
    resolver.resolve(0, host);
    if (const Status done = wait_for(ready.descriptor(), POLLIN, limit, name); !done) return done.error();
    const std::lock_guard lock(mutex);
    if (!found) return unreachable(name + ": " + found.error().message);
    return std::move(*found);
}

Result<std::string> converse(const frames::HostPort& host, std::string_view request, std::size_t most_bytes,
                             const WaitLimit& limit) {
    const std::string name = frames::to_text(host);
    const auto addresses = look_up(host, limit);
    if (!addresses) return addresses.error();
    Error last = unreachable(name + ": it has no address");
    for (const frames::SocketAddress& address : *addresses) {
        auto socket = connected(address, limit, name);
        if (!socket) {
            last = socket.error();
            continue;
        }
        if (const Status written = write_to(socket->get(), request, limit, name); !written)
            return written.error();
        ::shutdown(socket->get(), SHUT_WR);
        return read_from(socket->get(), most_bytes, limit, name);
    }
    return last;
}

namespace {

constexpr Duration limit_of_one = std::chrono::seconds(5);
constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Error no_answer(const std::string& what) {
    return {ExitCode::unreachable, what};
}

// Nothing is readable of it but `stop`.
Status pause(Instant until, int stop) {
    const Status waited = wait_for(-1, 0, {until, stop}, "the query");
    return !waited && waited.error().code == ExitCode::interrupted ? waited : success();
}

}  // namespace

std::string base64_of(std::string_view bytes) {
    std::string text;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : bytes) {
        bits = bits << 8 | static_cast<unsigned char>(c);
        for (count += 8; count >= 6; count -= 6) text += letters[bits >> (count - 6) & 63];
    }
    if (count > 0) text += letters[bits << (6 - count) & 63];
    text.append((4 - text.size() % 4) % 4, '=');
    return text;
}

Result<std::string> bytes_of_base64(std::string_view text) {
    while (text.ends_with('=')) text.remove_suffix(1);
    std::string bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const std::size_t value = letters.find(c);
        if (value == std::string_view::npos) return Error{ExitCode::bad_input, "no base64"};
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>(bits >> count & 255);
    }
    return bytes;
}

Result<std::vector<Json>> records_of_answer(std::string_view answer) {
    // CCTools' server ends these lines without a carriage return.
    const std::size_t first = answer.find('\n');
    const std::size_t head = std::min(answer.find("\n\n"), answer.find("\n\r\n"));
    if (!answer.starts_with("HTTP/1.") || first == std::string_view::npos || head == std::string_view::npos)
        return no_answer("this is no answer of a catalog server");
    if (const std::string_view line = answer.substr(0, first); line.size() < 12 || line.substr(9, 3) != "200")
        return no_answer("it refuses: " + line_for_message(line));
    if (is_too_deep(answer.substr(head))) return no_answer("its answer is nested too deeply");
    Json array = Json::parse(answer.substr(head));
    if (!array.is_array() ||
        !std::ranges::all_of(array.parts(), [](const Json& record) { return record.is_object(); }))
        return no_answer("its answer is incomplete, or no list of records");
    return std::move(array.parts());
}

std::optional<WallMicros> date_of_answer(std::string_view answer) {
    constexpr std::string_view name = "\r\nDate: ";
    const std::size_t at = answer.find(name);
    if (at == std::string_view::npos || at > answer.find("\r\n\r\n")) return std::nullopt;
    const std::string text(answer.substr(at + name.size(), answer.find('\r', at + 2) - at - name.size()));
    std::tm parts{};
    const char* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;
    return ::timegm(&parts) * micros_per_second;
}

Result<std::vector<Json>> CatalogClient::query(const std::string& where, Instant until, int stop,
                                               Rounds rounds) {
    if (hosts_.empty()) return no_answer("no catalog server is named");
    const auto expression = JxExpression::parse(where.empty() ? "true" : where);
    if (!expression) return expression.error();
    const bool asks_all = where.empty() || expression->uses_like();
    const std::string path = asks_all ? "/query.json" : "/query/" + base64_of(where);
    for (Duration wait = std::chrono::seconds(1);; wait *= 2) {
        std::vector<std::size_t> order;
        for (const bool failing : {false, true})
            for (std::size_t at = 0; at < hosts_.size(); ++at)
                if (failing_.contains(at) == failing) order.push_back(at);
        std::string why;
        for (const std::size_t at : order) {
            if (!why.empty() && instant_now() >= until)
                break;  // the rest was not asked, and comes first next time
            const std::string name = frames::to_text(hosts_[at]);
            const auto answer = converse(
                hosts_[at], "GET " + path + " HTTP/1.1\r\nHost: " + name + "\r\nConnection: close\r\n\r\n",
                most_answer_bytes_, {std::min(until, instant_now() + limit_of_one), stop});
            if (!answer && answer.error().code == ExitCode::interrupted) return answer.error();
            auto records = answer ? records_of_answer(*answer) : Result<std::vector<Json>>(answer.error());
            if (records) {
                failing_.erase(at);
                answered_at_ = date_of_answer(*answer);
                std::erase_if(*records, [&](const Json& record) { return !expression->matches(record); });
                return records;
            }
            failing_.insert(at);
            why += (why.empty() ? "" : "; ") + (answer ? name + ": " : "") + records.error().message;
        }
        if (rounds == Rounds::one || instant_now() + wait >= until) return no_answer(why);
        if (const Status paused = pause(instant_now() + wait, stop); !paused) return paused.error();
    }
}

namespace {

Status by_udp(const frames::HostPort& host, const std::string& packet, const WaitLimit& limit) {
    const auto addresses = look_up(host, limit);
    if (!addresses) return addresses.error();
    int error = EADDRNOTAVAIL;
    for (const frames::SocketAddress& address : *addresses) {
        const Descriptor socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (socket.get() >= 0 && ::sendto(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL,
                                          address.get(), address.bytes) >= 0)
            return success();
        error = errno;
    }
    return Error{ExitCode::unreachable, frames::to_text(host) + ": " + std::strerror(error)};
}

Status by_tcp(frames::HostPort host, const std::string& text, const WaitLimit& limit) {
    if (host.port == 65535)
        return Error{ExitCode::unreachable, frames::to_text(host) + ": it has no next port"};
    const std::string named = frames::to_text(host);
    ++host.port;
    const auto answer = converse(host, text, most_record_bytes, limit);
    if (answer) return success();
    return Error{answer.error().code,
                 answer.error().message + " (updates by TCP go to the port after that of " + named + ")"};
}

}  // namespace

Result<UpdateWay> update_way_of_environment() {
    UpdateWay way;
    const char* const protocol = std::getenv("CATALOG_UPDATE_PROTOCOL");
    if (protocol != nullptr && *protocol != '\0') {
        way.by_udp = std::strcmp(protocol, "udp") == 0;
        if (!way.by_udp && std::strcmp(protocol, "tcp") != 0)
            return Error{ExitCode::usage,
                         "CATALOG_UPDATE_PROTOCOL is tcp or udp, not " + quote_for_message(protocol)};
    }
    const char* const limit = std::getenv("CATALOG_UPDATE_LIMIT");
    if (limit != nullptr && *limit != '\0') {
        const auto bytes = parse_count(limit, 1, 65507);  // of the longest datagram
        if (!bytes) return Error{ExitCode::usage, "CATALOG_UPDATE_LIMIT: " + bytes.error().message};
        way.compressed = static_cast<std::size_t>(*bytes);
    }
    return way;
}

Status send_update(const CatalogHosts& hosts, const Json& record, const UpdateWay& way, const Json* lean,
                   int stop, Duration limit) {
    std::string packet = packet_of(record, way.by_udp ? way.compressed : SIZE_MAX);
    if (way.by_udp && lean != nullptr && packet.size() > way.compressed)
        packet = packet_of(*lean, way.compressed);
    std::string why;
    bool taken = false;
    for (const frames::HostPort& host : hosts) {
        const WaitLimit until{instant_now() + limit, stop};
        const Status sent = way.by_udp ? by_udp(host, packet, until) : by_tcp(host, packet, until);
        taken = taken || sent.ok();
        if (!sent && sent.error().code == ExitCode::interrupted) return sent;
        if (!sent) why += (why.empty() ? "" : "; ") + sent.error().message;
    }
    if (!taken) return Error{ExitCode::unreachable, why.empty() ? "no catalog server is named" : why};
    return success();
}

namespace {

Result<std::uint16_t> port_of_environment() {
    const char* const text = std::getenv("CATALOG_PORT");
    if (text == nullptr || *text == '\0') return default_catalog_port;
    const auto port = parse_count(text, 1, 65535);
    if (!port) return Error{ExitCode::usage, "CATALOG_PORT: " + port.error().message};
    return static_cast<std::uint16_t>(*port);
}

}  // namespace

Result<CatalogHosts> read_catalog_hosts(const std::string& text) {
    if (text.find_first_not_of(", ") == std::string::npos) return CatalogHosts{};
    const auto port = port_of_environment();
    if (!port) return port.error();
    std::string list = text;
    std::erase(list, ' ');
    std::ranges::replace(list, ',', ';');
    auto hosts = frames::parse_addresses(list, *port);
    if (!hosts)
        return Error{ExitCode::usage, "no list of catalog servers: " + quote_for_message(text) +
                                          "; write HOST[:PORT],HOST[:PORT]"};
    return hosts;
}

Result<CatalogHosts> named_catalog_hosts(const std::string& option) {
    const char* const named = std::getenv("CATALOG_HOST");
    return named_catalog_hosts(option, named == nullptr ? "" : named);
}

Result<CatalogHosts> named_catalog_hosts(const std::string& option, const std::string& variable) {
    if (!option.empty()) return read_catalog_hosts(option);
    auto hosts = read_catalog_hosts(variable);
    if (!hosts) return Error{ExitCode::usage, "CATALOG_HOST: " + hosts.error().message};
    return hosts;
}

std::string to_text(const CatalogHosts& hosts) {
    std::string text;
    for (const frames::HostPort& host : hosts) text += (text.empty() ? "" : ",") + frames::to_text(host);
    return text;
}

}  // namespace wq::net::catalog
