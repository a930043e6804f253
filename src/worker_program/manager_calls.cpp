#include "worker_program/manager_calls.h"

#include <algorithm>
#include <set>

#include "base/random_bits.h"
#include "base/units.h"
#include "listening/registry.h"
#include "records/run_status.h"

namespace wq::worker_program {

namespace {

Duration scaled(Duration time, double by) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::nano>(time) * by);
}

// Not scaled further, because the handshake needs CPU time: a process's first one took 0.2 s under ASan.
constexpr Duration shortest_handshake = std::chrono::seconds(2);

void scale(net::TcpLimits& limits, double by) {
    for (Duration* time :
         {&limits.keep_alive, &limits.silence, &limits.handshake, &limits.stalled, &limits.linger})
        *time = scaled(*time, by);
    limits.handshake = std::max(limits.handshake, shortest_handshake);
}

}  // namespace

ManagerCalls::ManagerCalls(const WorkerProgramOptions& options)
    : options_(&options), unanswered_(std::make_shared<std::uint64_t>(0)) {}

Result<ManagerCalls> ManagerCalls::of(const WorkerProgramOptions& options) {
    ManagerCalls calls(options);
    if (!options.password_file.empty()) {
        auto password = net::read_password(options.password_file,
                                           [&](const std::string& line) { calls.of_password_ = line; });
        if (!password) return password.error();
        calls.password_ = std::move(*password);
    }
    return calls;
}

Result<net::Contact> ManagerCalls::contact(bool waits) {
    if (!options_->contact.empty()) {
        auto contact = net::read_contact(options_->contact);
        if (contact || contact.error().code != ExitCode::unreachable) return contact;
        if (records::end_of_run(options_->contact) == records::RunEnd::over)
            return Error{ExitCode::ok, options_->contact + ": its run has ended"};
        return contact;
    }
    const auto found =
        listening::find_managers(listening::registry_folder(), options_->manager_regex, random_bits());
    if (!found) return found.error();
    const auto same = [&](const listening::Listing& listing) {
        return called_ && listing.contact.port == called_->port && listing.contact.host == called_->host;
    };
    for (const listening::Listing& listing : *found)
        if (waits && same(listing)) return listing.contact;
    if (waits && called_) return *called_;
    if (found->empty()) return none_matches();
    called_ = (*found)[*unanswered_ % found->size()].contact;
    return *called_;
}

Error ManagerCalls::none_matches() const {
    constexpr std::size_t most_listed = 5;
    std::set<std::string> names;
    if (const auto all = listening::find_managers(listening::registry_folder(), ".*", 0))
        for (const listening::Listing& listing : *all) names.insert(listing.contact.name);
    std::string listed;
    std::size_t count = 0;
    for (const std::string& name : names)
        if (++count <= most_listed) listed += (listed.empty() ? "; listed: " : ", ") + line_for_message(name);
    if (count > most_listed) listed += ", and " + std::to_string(count - most_listed) + " more";
    return {ExitCode::unreachable, "no manager in " + listening::registry_folder() +
                                       " has a whole name that matches " +
                                       quote_for_message(options_->manager_regex) + listed};
}

Result<net::TcpDialOptions> ManagerCalls::where(bool waits) {
    net::TcpDialOptions dial;
    dial.managers = options_->managers;
    if (dial.managers.empty()) {
        const auto found = contact(waits);
        if (!found) return found.error();
        dial = net::dial_options(*found);
    }
    if (!password_.empty()) dial.key = password_;
    net::add_tls(dial, options_->ssl, options_->ssl_ca);
    return dial;
}

Result<worker::Call> ManagerCalls::begin(bool waits) {
    auto dial = where(waits);
    if (!dial) return dial.error();
    worker::Call call;
    for (const net::HostPort& manager : dial->managers)
        call.address += (call.address.empty() ? "" : ";") + net::to_text(manager);
    scale(dial->limits, options_->time_scale);
    dial->connect = scaled(dial->connect, options_->time_scale);
    last_ = *dial;
    auto dialer = net::TcpDialer::open(std::move(*dial));
    if (!dialer) return dialer.error();
    const net::TcpDialer* const line = dialer->get();
    call.transport = std::move(*dialer);
    call.manager = net::TcpDialer::manager;
    call.not_allowed = [line] {
        const auto failure = line->failure();
        return failure && failure->code == ExitCode::not_allowed;
    };
    call.heard = [line](Instant) { return line->heard(); };
    ++*unanswered_;
    call.local_address = [line, unanswered = unanswered_] {
        *unanswered = 0;
        return line->local_address();
    };
    return call;
}

std::string ManagerCalls::warning() const {
    if (!of_password_.empty()) return of_password_;
    if (!options_->ssl || !options_->ssl_ca.empty() || !options_->contact.empty() || !password_.empty())
        return {};
    return "--ssl alone encrypts but does not check who the manager is: add --ssl-ca FILE, --password FILE "
           "or "
           "--contact FILE";
}

}  // namespace wq::worker_program
