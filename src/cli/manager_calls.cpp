#include "cli/manager_calls.h"

#include <random>

#include "app/registry.h"
#include "base/units.h"

namespace wq::cli {

namespace {

Duration scaled(Duration time, double by) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::nano>(time) * by);
}

void scale(transport::TcpLimits& limits, double by) {
    for (Duration* time :
         {&limits.keep_alive, &limits.silence, &limits.handshake, &limits.stalled, &limits.linger})
        *time = scaled(*time, by);
}

}  // namespace

ManagerCalls::ManagerCalls(const WorkerProgramOptions& options)
    : options_(&options), unanswered_(std::make_shared<std::uint64_t>(0)) {}

Result<ManagerCalls> ManagerCalls::of(const WorkerProgramOptions& options) {
    ManagerCalls calls(options);
    if (!options.password_file.empty()) {
        auto password = transport::read_password(options.password_file);
        if (!password) return password.error();
        calls.password_ = std::move(*password);
    }
    return calls;
}

Result<transport::Contact> ManagerCalls::contact(bool waits) {
    if (!options_->contact.empty()) return transport::read_contact(options_->contact);
    const auto found =
        app::find_managers(app::registry_folder(), options_->manager_regex, std::random_device{}());
    if (!found) return found.error();
    const auto same = [&](const app::Listing& listing) {
        return called_ && listing.contact.port == called_->port && listing.contact.host == called_->host;
    };
    for (const app::Listing& listing : *found)
        if (waits && same(listing)) return listing.contact;
    if (waits && called_) return *called_;
    if (found->empty())
        return Error{ExitCode::unreachable, "no manager is listed in " + app::registry_folder() +
                                                " by a name that matches " +
                                                quote_for_message(options_->manager_regex)};
    called_ = (*found)[*unanswered_ % found->size()].contact;
    return *called_;
}

Result<transport::TcpDialOptions> ManagerCalls::where(bool waits) {
    transport::TcpDialOptions dial;
    dial.managers = options_->managers;
    if (dial.managers.empty()) {
        const auto found = contact(waits);
        if (!found) return found.error();
        dial = transport::dial_options(*found);
    }
    if (!password_.empty()) dial.key = password_;
    using By = transport::TlsTrust::By;
    if (!options_->ssl_ca.empty())
        dial.tls = transport::TlsTrust{By::ca_file, options_->ssl_ca};
    else if (options_->ssl && !dial.tls)
        dial.tls = transport::TlsTrust{By::unverified, {}};
    return dial;
}

Result<app::Call> ManagerCalls::begin(bool waits) {
    auto dial = where(waits);
    if (!dial) return dial.error();
    app::Call call;
    for (const transport::HostPort& manager : dial->managers)
        call.address += (call.address.empty() ? "" : ";") + transport::to_text(manager);
    scale(dial->limits, options_->time_scale);
    dial->connect = scaled(dial->connect, options_->time_scale);
    auto dialer = transport::TcpDialer::open(std::move(*dial));
    if (!dialer) return dialer.error();
    const transport::TcpDialer* const line = dialer->get();
    call.transport = std::move(*dialer);
    call.manager = transport::TcpDialer::manager;
    call.not_allowed = [line] {
        const auto failure = line->failure();
        return failure && failure->code == ExitCode::not_allowed;
    };
    ++*unanswered_;
    call.local_address = [line, unanswered = unanswered_] {
        *unanswered = 0;
        return line->local_address();
    };
    return call;
}

std::string ManagerCalls::warning() const {
    if (!options_->ssl || !options_->ssl_ca.empty() || !options_->contact.empty() || !password_.empty())
        return {};
    return "--ssl alone encrypts, but does not tell who the manager is: give --ssl-ca FILE, --password FILE "
           "or "
           "--contact FILE";
}

}  // namespace wq::cli
