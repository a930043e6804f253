#include "listening/open_port.h"

#include <unistd.h>

#include "records/run_status.h"

namespace wq::listening {

Result<OpenPort> open_port(net::TcpListenOptions options, const std::string& name,
                           const std::function<void(const std::string&)>& say) {
    net::Contact contact;
    contact.key = options.key;
    contact.tls = options.tls.has_value();
    contact.pid = ::getpid();
    contact.host = records::host_name();
    auto listener = net::TcpListener::open(std::move(options));
    if (!listener) return listener.error();
    contact.port = (*listener)->port();
    contact.certificate_digest = (*listener)->certificate_digest();
    contact.started = wall_now();
    OpenPort port(std::move(*listener), std::move(contact));
    if (const Status listed = port.change(name, port.contact().key, say); !listed) return listed.error();
    return port;
}

Status OpenPort::change(const std::string& name, const std::string& key,
                        const std::function<void(const std::string&)>& say) {
    contact_.name = name;
    contact_.key = key;
    entry.reset();
    if (name.empty()) return success();
    auto listed = register_manager(registry_folder(), contact(), say);
    if (!listed) return listed.error();
    entry = std::move(*listed);
    return success();
}

net::Contact OpenPort::contact() const {
    net::Contact contact = contact_;
    contact.addresses = net::own_addresses();
    return contact;
}

void OpenPort::remove_contact(const std::string& path) const {
    const auto contact = net::read_contact(path);
    if (contact && contact->pid == contact_.pid && contact->host == contact_.host &&
        contact->started == contact_.started)
        ::unlink(path.c_str());
}

}  // namespace wq::listening
