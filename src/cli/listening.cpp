#include "cli/listening.h"

#include <unistd.h>

#include <cstdio>

#include "app/away.h"
#include "stats/run_status.h"
#include "transport/contact.h"
#include "transport/tls_identity.h"

namespace wq::cli {

Listening::Listening(std::unique_ptr<transport::TcpListener> listener, std::string contact_path,
                     MarkFile mark)
    : listener_(std::move(listener)), contact_path_(std::move(contact_path)), mark_(std::move(mark)) {}

Listening::~Listening() {
    ::unlink(contact_path_.c_str());
}

Result<std::unique_ptr<Listening>> Listening::open(const RunOptions& options,
                                                   const std::string& run_directory,
                                                   const std::string& folder) {
    auto identity = transport::make_identity();
    if (!identity) return identity.error();
    transport::Contact contact;
    contact.key = transport::fresh_key();
    contact.addresses = transport::own_addresses();
    contact.tls = true;
    contact.name = options.name;
    contact.pid = ::getpid();
    contact.host = stats::host_name();
    contact.started = wall_now();

    transport::TcpListenOptions listen;
    listen.low_port = listen.high_port = *options.listen;
    listen.key = contact.key;
    listen.tls = std::move(*identity);
    listen.limits.keep_alive = app::keep_alive_of(options.away_limit, listen.limits.keep_alive);
    auto listener = transport::TcpListener::open(std::move(listen));
    if (!listener) return listener.error();
    contact.port = (*listener)->port();
    contact.certificate_print = (*listener)->certificate_print();

    auto mark = MarkFile::make(folder, run_directory);
    if (!mark) return mark.error();
    std::unique_ptr<Listening> listening(
        new Listening(std::move(*listener), run_directory + "/contact", std::move(*mark)));
    if (Status written = transport::write_contact(listening->contact_path_, contact); !written)
        return written.error();
    if (options.name.empty()) return listening;
    const auto say = [](const std::string& text) {
        std::fprintf(stderr, "work_queue_run: %s\n", text.c_str());
    };
    auto entry = app::register_manager(app::registry_folder(), contact, say);
    if (!entry) return entry.error();
    listening->entry_ = std::move(*entry);
    return listening;
}

std::string Listening::description() const {
    return "listening on port " + std::to_string(listener_->port()) +
           "; workers join by: work_queue_worker --contact " + contact_path_;
}

}  // namespace wq::cli
