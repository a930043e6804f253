#include "cli/manager_calls.h"

#include "transport/contact.h"
#include "transport/tcp_dialer.h"

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

Result<ManagerCalls> ManagerCalls::of(const WorkerProgramOptions& options) {
    ManagerCalls calls(options);
    if (!options.password_file.empty()) {
        auto password = transport::read_password(options.password_file);
        if (!password) return password.error();
        calls.password_ = std::move(*password);
    }
    return calls;
}

Result<transport::TcpDialOptions> ManagerCalls::where() {
    transport::TcpDialOptions dial;
    dial.managers = options_->managers;
    if (!options_->contact.empty()) {
        const auto contact = transport::read_contact(options_->contact);
        if (!contact) return contact.error();
        dial = transport::dial_options(*contact);
    } else if (!options_->manager_regex.empty()) {
        return Error{ExitCode::unreachable, "no manager by the name " + options_->manager_regex};
    }
    if (!password_.empty()) dial.key = password_;
    using By = transport::TlsTrust::By;
    if (!options_->ssl_ca.empty())
        dial.tls = transport::TlsTrust{By::ca_file, options_->ssl_ca};
    else if (options_->ssl && !dial.tls)
        dial.tls = transport::TlsTrust{By::unverified, {}};
    return dial;
}

Result<app::Call> ManagerCalls::begin() {
    auto dial = where();
    if (!dial) return dial.error();
    app::Call call;
    for (const transport::HostPort& manager : dial->managers)
        call.address += (call.address.empty() ? "" : ";") + transport::to_text(manager);
    scale(dial->limits, options_->time_scale);
    dial->connect = scaled(dial->connect, options_->time_scale);
    auto dialer = transport::TcpDialer::open(std::move(*dial));
    const transport::TcpDialer* const line = dialer.get();
    call.transport = std::move(dialer);
    call.manager = transport::TcpDialer::manager;
    call.not_allowed = [line] {
        const auto failure = line->failure();
        return failure && failure->code == ExitCode::not_allowed;
    };
    call.local_address = [line] { return line->local_address(); };
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
