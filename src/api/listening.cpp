#include "api/listening.h"

#include <unistd.h>

#include <cstdlib>

#include "app/away.h"
#include "base/units.h"
#include "stats/run_status.h"
#include "transport/contact.h"
#include "transport/tls_identity.h"

namespace wq::api {

namespace {

constexpr int lowest_port = 1024;  // where no range is given, as in Work Queue
constexpr int highest_port = 32767;

std::string value_of(const Variables& variables, const char* name) {
    const char* value = variables(name);
    return value == nullptr ? std::string() : value;
}

Result<int> port_in(const Variables& variables, const char* name, int otherwise) {
    const std::string text = value_of(variables, name);
    if (text.empty()) return otherwise;
    const auto port = parse_count(text, 0, 65535);
    if (!port) return Error{ExitCode::usage, std::string(name) + "=" + text + " is no port: give 1 to 65535"};
    return static_cast<int>(*port);
}

Result<int> port_in(const Variables& variables, const char* ours, const char* theirs, int otherwise) {
    return port_in(variables, value_of(variables, ours).empty() ? theirs : ours, otherwise);
}

PortRange range_of(int low, int high) {
    return {static_cast<std::uint16_t>(low), static_cast<std::uint16_t>(high)};
}

Result<std::string> key_of(const ManagerOptions& options) {
    if (!options.password.empty() && !options.password_file.empty())
        return Error{ExitCode::usage, "give password or password_file, not both"};
    if (!options.password_file.empty()) return transport::read_password(options.password_file);
    if (!options.password.empty()) return options.password;
    if (!options.contact_file.empty()) return transport::fresh_key();
    return std::string();
}

Duration seconds(double count) {
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(count > 0 ? std::min(count, 1e9) : 1e9));
}

Result<transport::TlsIdentity> identity_of(const ManagerOptions& options) {
    if (options.ssl_key.empty() != options.ssl_certificate.empty())
        return Error{ExitCode::usage, "ssl_key and ssl_certificate belong together: give both or none"};
    if (options.ssl_key.empty()) return transport::make_identity();
    return transport::read_identity(options.ssl_key, options.ssl_certificate);
}

constexpr const char* cure =
    "give it a password file, work_queue_specify_password_file() in C (workers: --password FILE), or a "
    "contact_file (workers: --contact FILE)";

Status check_open(const ManagerOptions& options, const Variables& variables) {
    const std::string required = value_of(variables, "WORK_QUEUE_REQUIRE_KEY");
    const bool by_variable = !required.empty() && required != "0";
    if (!options.require_key && !by_variable) return success();
    return Error{ExitCode::not_allowed, std::string("a key is required (") +
                                            (options.require_key ? "require_key" : "WORK_QUEUE_REQUIRE_KEY") +
                                            ") and there is none: " + cure};
}

// As a user of Work Queue expects; only a key keeps strangers out.
std::string warning_of_open(int port) {
    return "port " + std::to_string(port) +
           " is open to everybody who can reach it: any of them may run tasks for this manager, and send it "
           "results; " +
           cure;
}

}  // namespace

Result<PortRange> ports_of(const ManagerOptions& options, const Variables& variables) {
    if (options.port_range) {
        const auto [low, high] = *options.port_range;
        if (low < 1 || high > 65535 || low > high)
            return Error{ExitCode::usage, "port_range " + std::to_string(low) + " to " +
                                              std::to_string(high) + " is no range within 1 to 65535"};
        return range_of(low, high);
    }
    if (options.port > 65535)
        return Error{ExitCode::usage,
                     "port " + std::to_string(options.port) + " is no port: give 1 to 65535"};
    if (options.port > 0) return range_of(options.port, options.port);
    const auto fixed = port_in(variables, "WORK_QUEUE_PORT", 0);
    if (!fixed) return fixed.error();
    if (*fixed > 0) return range_of(*fixed, *fixed);
    const auto low = port_in(variables, "WORK_QUEUE_LOW_PORT", "TCP_LOW_PORT", lowest_port);
    if (!low) return low.error();
    const auto high =
        port_in(variables, "WORK_QUEUE_HIGH_PORT", "TCP_HIGH_PORT", std::max(highest_port, *low));
    if (!high) return high.error();
    if (*low < 1 || *low > *high)
        return Error{ExitCode::usage, "WORK_QUEUE_LOW_PORT " + std::to_string(*low) +
                                          " and WORK_QUEUE_HIGH_PORT " + std::to_string(*high) +
                                          " are no range of ports"};
    return range_of(*low, *high);
}

Result<Duration> away_limit_of(const ManagerOptions& options) {
    const Duration limit = options.away_limit > 0 ? seconds(options.away_limit) : Duration{0};
    if (app::sound_away_limit(limit)) return limit;
    return Error{ExitCode::usage,
                 "away_limit is at least 10 s, as workers hear their manager no more often than that allows; "
                 "or 0: who is cut off is lost at once"};
}

// Workers say something every 30 s: no sooner can they be missed. They expect as much of us, and more where
// they keep their tasks for a short time only.
void set_keep_alive(transport::TcpLimits& limits, const KeepAlive& wanted, Duration away_limit) {
    const transport::TcpLimits of_workers;
    limits.keep_alive =
        app::keep_alive_of(away_limit, std::min(of_workers.keep_alive, seconds(wanted.interval)));
    limits.silence = wanted.interval <= 0
                         ? seconds(1e9)
                         : std::max(of_workers.silence, seconds(wanted.interval + wanted.timeout));
}

Result<Listening> listen(const ManagerOptions& options, const std::function<void(const std::string&)>& say,
                         const Variables& variables) {
    const auto ports = ports_of(options, variables);
    if (!ports) return ports.error();
    const auto away_limit = away_limit_of(options);
    if (!away_limit) return away_limit.error();
    Listening listening;
    auto key = key_of(options);
    if (!key) return key.error();
    transport::TcpListenOptions tcp;
    tcp.low_port = ports->low;
    tcp.high_port = ports->high;
    tcp.sockets = options.sockets;
    tcp.key = *key;
    set_keep_alive(tcp.limits, {options.keepalive_interval, options.keepalive_timeout}, *away_limit);
    const bool generated_key = options.password.empty() && options.password_file.empty();
    if (options.ssl || !options.ssl_key.empty() || !options.ssl_certificate.empty() ||
        (!options.contact_file.empty() && generated_key)) {
        auto identity = identity_of(options);
        if (!identity) return identity.error();
        tcp.tls = std::move(*identity);
    }
    // Refused before anybody could connect.
    if (key->empty())
        if (const Status allowed = check_open(options, variables); !allowed) return allowed.error();
    listening.tls = tcp.tls.has_value();
    auto listener = transport::TcpListener::open(std::move(tcp));
    if (!listener) return listener.error();
    listening.transport = std::move(*listener);
    listening.port = listening.transport->port();
    listening.key = std::move(*key);
    listening.certificate_print = listening.transport->certificate_print();
    listening.name = options.name;
    listening.started = wall_now();
    if (listening.key.empty()) listening.warning = warning_of_open(listening.port);
    if (options.name.empty()) return listening;
    auto entry = app::register_manager(app::registry_folder(), listening.contact(), say);
    if (!entry) return entry.error();
    listening.entry = std::move(*entry);
    return listening;
}

Result<Listening> listen(const ManagerOptions& options, const std::function<void(const std::string&)>& say) {
    return listen(options, say, [](const char* name) { return std::getenv(name); });
}

std::vector<std::string> Listening::addresses() const {
    std::vector<std::string> all;
    for (std::string& host : transport::own_addresses())
        all.push_back(transport::to_text({std::move(host), static_cast<std::uint16_t>(port)}));
    return all;
}

transport::Contact Listening::contact() const {
    transport::Contact contact;
    contact.addresses = transport::own_addresses();
    contact.port = static_cast<std::uint16_t>(port);
    contact.key = key;
    contact.tls = tls;
    contact.certificate_print = certificate_print;
    contact.name = name;
    contact.pid = ::getpid();
    contact.host = stats::host_name();
    contact.started = started;
    return contact;
}

Status Listening::write_contact(const std::string& path) const {
    return transport::write_contact(path, contact());
}

void Listening::remove_contact(const std::string& path) const {
    const auto contact = transport::read_contact(path);
    if (contact && contact->pid == ::getpid() && contact->started == started) ::unlink(path.c_str());
}

}  // namespace wq::api
