#include "net/catalog_server/catalog_server.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/background.h"
#include "base/json.h"
#include "base/units.h"
#include "net/catalog/catalog_client.h"
#include "net/catalog/record.h"
#include "net/catalog_server/answer.h"
#include "net/catalog_server/history_answers.h"
#include "net/catalog_server/host_names.h"
#include "net/catalog_server/queries.h"
#include "net/catalog_server/updates.h"

namespace wq::net::catalog_server {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

struct Ports {
    frames::ListeningSockets queries, updates;
    std::vector<Descriptor> datagrams;
};

// Datagrams come to the addresses at which connections are accepted.
Result<std::vector<Descriptor>> datagram_sockets(const frames::ListeningSockets& beside) {
    std::vector<Descriptor> sockets;
    for (const Descriptor& listening : beside.descriptors) {
        frames::SocketAddress address;
        address.bytes = sizeof address.storage;
        ::getsockname(listening.get(), address.get(), &address.bytes);
        Descriptor socket(::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        const int room = 4 << 20;
        ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
        if (::bind(socket.get(), address.get(), address.bytes) != 0)
            return Error{ExitCode::unreachable,
                         "no datagrams at " + frames::to_text(address) + ": " + std::strerror(errno)};
        sockets.push_back(std::move(socket));
    }
    return sockets;
}

// Port 0: any.
Result<Ports> ports_from(const ServerSettings& settings, std::uint16_t port) {
    Ports ports;
    auto queries = frames::listen_on(settings.interfaces, port, port);
    if (!queries) return queries.error();
    ports.queries = std::move(*queries);
    const auto next = static_cast<std::uint16_t>(ports.queries.port + 1);
    if (next == 0) return Error{ExitCode::usage, "updates have the port behind 65535, which there is not"};
    auto updates = frames::listen_on(settings.interfaces, next, next);
    if (!updates) return updates.error();
    ports.updates = std::move(*updates);
    auto datagrams = datagram_sockets(ports.queries);
    if (!datagrams) return datagrams.error();
    ports.datagrams = std::move(*datagrams);
    return ports;
}

Result<Ports> open_ports(const ServerSettings& settings) {
    if (settings.port != 0) return ports_from(settings, settings.port);
    constexpr int most_draws = 16;
    for (int draw = 0; draw < most_draws; ++draw)
        if (auto ports = ports_from(settings, 0)) return ports;
    // The system draws from the ports of outgoing connections. SO_REUSEADDR does not give us one on which a
    // client has closed a connection in the last minute; if there are many, hardly any has a free next one.
    constexpr int lowest = 1024, count = 65535 - lowest;
    std::random_device random;
    const int first = std::uniform_int_distribution<>(0, count - 1)(random);
    for (int n = 0;; ++n) {
        auto ports = ports_from(settings, static_cast<std::uint16_t>(lowest + (first + n) % count));
        if (ports || ports.error().code == ExitCode::usage || n + 1 == count) return ports;
    }
}

// Returns the limit.
std::size_t raise_descriptor_limit() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_max;
}

}  // namespace

struct CatalogServer::State {
    State(ServerSettings given, Ports ports, std::function<void(const std::string&)> line)
        : settings(std::move(given)),
          say(std::move(line)),
          table(settings.table),
          query_guests(settings.guests.most),
          update_guests(settings.guests.most),
          facts{settings.name, settings.version, wall_now},
          query_room{turns, query_guests, settings.guests,
                     [this](const HttpRequest& request) { return answer(request); }},
          take([this](std::string_view bytes, const std::string& address, catalog::Protocol protocol) {
              update(bytes, address, protocol);
          }),
          names([this](const std::string& address, const std::string& name) {
              asio::post(context, [this, address, name] { table.name_host(address, name); });
          }),
          queries(context, std::move(ports.queries),
                  [this](Acceptor::Arrival arrival) {
                      const std::string address = arrival.address;
                      answer_query_of(make_plain_stream(socket_of(context, std::move(arrival))), address,
                                      query_room);
                  }),
          updates(context, std::move(ports.updates),
                  [this](Acceptor::Arrival arrival) {
                      read_update_from(std::move(arrival), context, update_guests, settings.guests, take);
                  }),
          datagrams(context, std::move(ports.datagrams), take) {}

    Status open_ssl() {
        auto tls = TlsServer::open(settings.ssl_certificate, settings.ssl_key);
        if (!tls) return tls.error();
        auto sockets = frames::listen_on(settings.interfaces, settings.ssl_port, settings.ssl_port);
        if (!sockets) return sockets.error();
        ssl_queries.emplace(context, std::move(*sockets), [this, tls = *tls](Acceptor::Arrival arrival) {
            const std::string address = arrival.address;
            answer_query_of(tls.make_stream(socket_of(context, std::move(arrival))), address, query_room);
        });
        return success();
    }

    Status open_history() {
        auto opened = HistoryFiles::open(settings.history);
        if (!opened) return opened.error();
        history_files.emplace(std::move(*opened));
        history.emplace(*history_files, settings.history_limits, table, settings.table, say, instant_now(),
                        wall_now);
        past.emplace(context, *history_files, settings.table, facts);
        history_written.assign(::dup(history->descriptor()));
        wait_for_history();
        return success();
    }
    void wait_for_history() {
        history_written.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
            if (error) return;
            history->finish();
            wait_for_history();
        });
    }

    HttpAnswer answer(const HttpRequest& request) {
        if (past)
            if (auto of_past = past->answer(request)) return std::move(*of_past);
        return {answer_to(request, table, facts), {}};
    }

    void update(std::string_view bytes, const std::string& address, catalog::Protocol protocol) {
        auto record = catalog::read_update(bytes);
        if (!record) return refuse(address, record.error());
        const Instant now = instant_now();
        const auto taken =
            table.update(*record, {address, names.name_of(address, now), protocol}, now, wall_now());
        if (!taken) refuse(address, taken.error());
    }
    // One line a minute at most: senders are strangers.
    void refuse(const std::string& address, const Error& why) {
        ++refused;
        const Instant now = instant_now();
        if (now < says_again) return;
        says_again = now + std::chrono::minutes(1);
        say("refused " + count_of(std::exchange(refused, 0), "update") + "; the last, of " + address + ": " +
            why.message);
    }

    // Other catalogs are told of this one, on a thread that may wait for them.
    void send_upstream() {
        if (settings.upstream.empty()) return;
        upstream_timer.expires_after(settings.upstream_every);
        upstream_timer.async_wait([this](error_code error) {
            if (!error) send_upstream();
        });
        if (std::exchange(sends_upstream, true)) return;  // still the last time
        upstream.post([this, record = own_record()] {
            const auto way = catalog::update_way_of_environment();
            const Status sent = way ? catalog::send_update(settings.upstream, record, *way, nullptr, stop)
                                    : Status(way.error());
            return [this, sent] {
                sends_upstream = false;
                if (!sent && sent.error().code != ExitCode::interrupted) say("-u: " + sent.error().message);
            };
        });
    }
    Json own_record() const {
        return {{"type", "catalog"},
                {"name", settings.name},
                {"owner", settings.owner},
                {"version", settings.version},
                {"starttime", begun / micros_per_second},
                {"port", queries.port()},
                {"url", "http://" + settings.name + ":" + std::to_string(queries.port())}};
    }
    void wait_for_upstream() {
        told.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
            if (error) return;
            upstream.finish();
            wait_for_upstream();
        });
    }

    void tick() {
        timer.expires_after(std::chrono::milliseconds(500));
        timer.async_wait([this](error_code error) {
            if (error) return;
            const Instant now = instant_now();
            table.expire(now);
            if (history) history->tick(now);
            query_guests.sweep(now);
            update_guests.sweep(now);
            for (Acceptor* const acceptor : {&queries, &updates, ssl_queries ? &*ssl_queries : nullptr})
                if (acceptor != nullptr) acceptor->resume();
            tick();
        });
    }

    ServerSettings settings;
    std::function<void(const std::string&)> say;
    asio::io_context context{1};
    catalog::RecordTable table;
    Guests query_guests, update_guests;
    ServerFacts facts;
    QueryTurns turns{context};
    QueryRoom query_room;
    TakeUpdate take;
    HostNames names;
    Acceptor queries;
    Acceptor updates;
    std::optional<Acceptor> ssl_queries;
    DatagramReader datagrams;
    asio::steady_timer timer{context};
    std::optional<HistoryFiles> history_files;
    std::optional<HistoryLog> history;
    std::optional<HistoryAnswers> past;
    asio::posix::stream_descriptor history_written{context};
    std::uint64_t refused = 0;
    Instant says_again{};
    const WallMicros begun = wall_now();
    int stop = -1;
    bool sends_upstream = false;
    asio::steady_timer upstream_timer{context};
    BackgroundThread upstream;
    asio::posix::stream_descriptor told{context, ::dup(upstream.descriptor())};
};

CatalogServer::CatalogServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
CatalogServer::CatalogServer(CatalogServer&&) noexcept = default;
CatalogServer::~CatalogServer() = default;

Result<CatalogServer> CatalogServer::open(ServerSettings settings,
                                          std::function<void(const std::string&)> say) {
    // Not more than there may be descriptors, with those of updates.
    const std::size_t descriptors = raise_descriptor_limit();
    GuestCounts& most = settings.guests.most;
    most.silent = std::min(most.silent, descriptors / 8);
    most.answered = std::min(most.answered, descriptors / 2);
    auto ports = open_ports(settings);
    if (!ports) return ports.error();
    const bool ssl = settings.ssl;
    auto state = std::make_unique<State>(std::move(settings), std::move(*ports), std::move(say));
    if (!state->settings.history.empty())
        if (const Status opened = state->open_history(); !opened) return opened.error();
    if (ssl)
        if (const Status opened = state->open_ssl(); !opened) return opened.error();
    return CatalogServer(std::move(state));
}

std::uint16_t CatalogServer::port() const {
    return state_->queries.port();
}
std::uint16_t CatalogServer::ssl_port() const {
    return state_->ssl_queries ? state_->ssl_queries->port() : 0;
}

void CatalogServer::run(int stop) {
    state_->stop = stop;
    state_->wait_for_upstream();
    state_->send_upstream();
    asio::posix::stream_descriptor watched(state_->context, ::dup(stop));
    watched.async_wait(asio::posix::stream_descriptor::wait_read,
                       [this](error_code) { state_->context.stop(); });
    state_->tick();
    state_->context.run();
}

}  // namespace wq::net::catalog_server
