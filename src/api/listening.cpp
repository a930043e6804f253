#include "api/listening.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/random_bits.h"
#include "base/text.h"
#include "base/units.h"
#include "net/catalog/catalog_client.h"
#include "net/frames/contact.h"
#include "net/frames/tls_identity.h"
#include "net/session/session_table.h"

namespace wq::api {

namespace {

constexpr int lowest_port = 1024;  // default lower bound, as in Work Queue
constexpr int highest_port = 32767;
constexpr int fewest_ports = 1000;  // to try from a random one on

std::string value_of(const Variables& variables, const char* name) {
    const char* value = variables(name);
    return value == nullptr ? std::string() : value;
}

Result<int> port_in(const Variables& variables, const char* name, int otherwise) {
    const std::string text = value_of(variables, name);
    if (text.empty()) return otherwise;
    const auto port = parse_count(text, 0, 65535);
    if (!port)
        return Error{ExitCode::usage, std::string(name) + "=" + text + " is not a port: give 1 to 65535"};
    return static_cast<int>(*port);
}

Result<int> port_in(const Variables& variables, const char* ours, const char* theirs, int otherwise) {
    return port_in(variables, value_of(variables, ours).empty() ? theirs : ours, otherwise);
}

// Workers without a key that outlive their manager serve whoever has its port next: so hardly anyone gets it
// soon.
int random_low_port() {
    return lowest_port + static_cast<int>(random_bits() % (highest_port - lowest_port - fewest_ports));
}

PortRange range_of(int low, int high) {
    return {static_cast<std::uint16_t>(low), static_cast<std::uint16_t>(high)};
}

Duration seconds(double count) {
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(count > 0 ? std::min(count, 1e9) : 1e9));
}

Result<net::frames::TlsIdentity> identity_of(const ManagerOptions& options) {
    if (options.ssl_key.empty() != options.ssl_certificate.empty())
        return Error{ExitCode::usage, "ssl_key and ssl_certificate belong together: give both or none"};
    if (options.ssl_key.empty()) return net::frames::make_identity();
    return net::frames::read_identity(options.ssl_key, options.ssl_certificate);
}

// These names are parameters in C++ and Python, and parts of the names of functions in C and Perl.
constexpr const char* remedy =
    "give it a contact_file (workers: --contact FILE) or a password_file (workers: --password FILE)";

Status check_open(const ManagerOptions& options, const Variables& variables) {
    const std::string required = value_of(variables, "WORK_QUEUE_REQUIRE_KEY");
    const bool by_variable = !required.empty() && required != "0";
    if (!options.require_key && !by_variable) return success();
    return Error{ExitCode::not_allowed, std::string("a key is required (") +
                                            (options.require_key ? "require_key" : "WORK_QUEUE_REQUIRE_KEY") +
                                            ") and there is none: " + remedy};
}

// Work Queue allows it by default, so this is only a warning; only a key keeps strangers out.
std::string warning_of_open(int port) {
    return "port " + std::to_string(port) +
           " has no password: anyone who can reach it can join as a worker: read your tasks and send false "
           "results; " +
           remedy;
}

}  // namespace

Result<std::string> key_of(const ManagerOptions& options,
                           const std::function<void(const std::string&)>& say) {
    if (!options.password.empty() && !options.password_file.empty())
        return Error{ExitCode::usage, "give password or password_file, not both"};
    if (!options.password_file.empty()) return net::frames::read_password(options.password_file, say);
    if (!options.password.empty()) return options.password;
    if (generates_key(options)) return net::frames::fresh_key();
    return std::string();
}

bool generates_key(const ManagerOptions& options) {
    return !options.contact_file.empty() && options.password.empty() && options.password_file.empty();
}

bool uses_tls(const ManagerOptions& options) {
    return options.ssl || !options.ssl_key.empty() || !options.ssl_certificate.empty() ||
           generates_key(options);
}

Result<StatusDoor> status_door(const std::string& word, bool has_key) {
    if (word == "open" || (word.empty() && !has_key)) return StatusDoor{};
    if (word == "key" || word.empty()) return StatusDoor{net::frames::ask_with_the_key, true};
    if (word == "off")
        return StatusDoor{"this manager tells nobody its status: its owner switched it off", false};
    return Error{ExitCode::usage, "status is open, key or off, not " + quote_for_message(word)};
}

std::string command_of_worker(const ManagerOptions& options, int port) {
    const auto word = [](const std::string& text) {
        const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
            return std::isalnum(c) != 0 ||
                   std::string_view("/._-+:@").find(static_cast<char>(c)) != std::string_view::npos;
        });
        return plain ? text : single_quoted(text);
    };
    const auto path = [&](const std::string& file) {
        std::error_code gone;  // the current folder
        const std::filesystem::path whole = std::filesystem::absolute(file, gone);
        return word(gone ? file : whole.string());
    };
    std::string command = "work_queue_worker ";
    if (!options.contact_file.empty()) return command + "--contact " + path(options.contact_file);
    if (options.ssl || !options.ssl_key.empty()) command += "--ssl ";
    if (!options.password_file.empty()) command += "--password " + path(options.password_file) + " ";
    if (options.password_file.empty() && !options.password.empty())
        command += "--password FILE_WITH_THE_PASSWORD ";
    if (!options.name.empty()) return command + "-M " + word(options.name);
    return command + "localhost " + std::to_string(port) +
           " (on another machine: the name of this one instead of localhost)";
}

Status check_description(const ManagerOptions& options) {
    if (!options.catalog.empty())
        if (const auto hosts = net::catalog::read_catalog_hosts(options.catalog); !hosts)
            return hosts.error();
    if (options.tasks_left < 0) return Error{ExitCode::usage, "tasks_left: give 0 or more tasks"};
    for (const char* const known : {"by_ip", "by_hostname", "by_apparent_ip"})
        if (options.preferred_connection == known) return success();
    return Error{ExitCode::usage, "preferred_connection " + quote_for_message(options.preferred_connection) +
                                      ": give by_ip, by_hostname or by_apparent_ip"};
}

Result<PortRange> ports_of(const ManagerOptions& options, const Variables& variables) {
    if (options.port_range) {
        const auto [low, high] = *options.port_range;
        if (low < 1 || high > 65535 || low > high)
            return Error{ExitCode::usage, "port_range " + std::to_string(low) + " to " +
                                              std::to_string(high) + " is not a range within 1 to 65535"};
        return range_of(low, high);
    }
    if (options.port > 65535)
        return Error{ExitCode::usage,
                     "port " + std::to_string(options.port) + " is not a port: give 1 to 65535"};
    if (options.port > 0) return range_of(options.port, options.port);
    const auto fixed = port_in(variables, "WORK_QUEUE_PORT", 0);
    if (!fixed) return fixed.error();
    if (*fixed > 0) return range_of(*fixed, *fixed);
    const bool bounded =
        !value_of(variables, "WORK_QUEUE_HIGH_PORT").empty() || !value_of(variables, "TCP_HIGH_PORT").empty();
    const auto low =
        port_in(variables, "WORK_QUEUE_LOW_PORT", "TCP_LOW_PORT", bounded ? lowest_port : random_low_port());
    if (!low) return low.error();
    const auto high =
        port_in(variables, "WORK_QUEUE_HIGH_PORT", "TCP_HIGH_PORT", std::max(highest_port, *low));
    if (!high) return high.error();
    if (*low < 1 || *low > *high)
        return Error{ExitCode::usage, "WORK_QUEUE_LOW_PORT " + std::to_string(*low) +
                                          " and WORK_QUEUE_HIGH_PORT " + std::to_string(*high) +
                                          " are not a range of ports"};
    return range_of(*low, *high);
}

Result<Duration> disconnect_limit_of(const ManagerOptions& options) {
    const Duration limit = options.away_limit > 0 ? seconds(options.away_limit) : Duration{0};
    if (net::session::sound_disconnect_limit(limit)) return limit;
    return Error{ExitCode::usage,
                 "away_limit is at least 10 s, because workers hear from their manager only that often; "
                 "or 0: disconnected workers are lost at once"};
}

Duration silence_of(const KeepAlive& wanted) {
    if (wanted.interval <= 0) return seconds(1e9);
    return std::max(net::frames::TcpLimits{}.silence, seconds(wanted.interval + wanted.timeout));
}

Result<Listening> listen(const ManagerOptions& options, const std::function<void(const std::string&)>& say,
                         const Variables& variables) {
    const auto ports = ports_of(options, variables);
    if (!ports) return ports.error();
    if (const auto limit = disconnect_limit_of(options); !limit) return limit.error();
    if (const Status sound = check_description(options); !sound) return sound.error();
    auto key = key_of(options, say);
    if (!key) return key.error();
    net::frames::TcpListenOptions tcp;
    tcp.low_port = ports->low;
    tcp.high_port = ports->high;
    tcp.sockets = options.sockets;
    tcp.key = *key;
    const auto door = status_door(options.status, !key->empty());
    if (!door) return door.error();
    tcp.plain_refusal = door->plain_refusal;
    tcp.limits.silence = silence_of({options.keepalive_interval, options.keepalive_timeout});
    if (uses_tls(options)) {
        auto identity = identity_of(options);
        if (!identity) return identity.error();
        tcp.tls = std::move(*identity);
    }
    // Refuse before anybody can connect.
    if (key->empty())
        if (const Status allowed = check_open(options, variables); !allowed) return allowed.error();
    auto port = net::contact::open_port(std::move(tcp),
                                        {options.name, options.catalog, true, generates_key(options)}, say);
    if (!port) return port.error();
    const std::string warning = key->empty() ? warning_of_open(port->number()) : std::string();
    const std::string worker = command_of_worker(options, port->number());
    return Listening{std::move(*port), warning, worker, door->lists};
}

Result<Listening> listen(const ManagerOptions& options, const std::function<void(const std::string&)>& say) {
    return listen(options, say, [](const char* name) { return std::getenv(name); });
}

std::vector<int> HeldPort::descriptors() const {
    std::vector<int> all;
    for (const Descriptor& socket : sockets) all.push_back(socket.get());
    return all;
}

Result<HeldPort> hold_port(const ManagerOptions& options, const std::vector<std::string>& addresses) {
    const auto ports = ports_of(options, [](const char* name) { return std::getenv(name); });
    if (!ports) return ports.error();
    auto held = net::frames::listen_on(addresses, ports->low, ports->high);
    if (!held) return held.error();
    return HeldPort{std::move(held->descriptors), held->port};
}

}  // namespace wq::api
