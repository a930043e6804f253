#include "net/contact/open_port.h"

#include <unistd.h>

#include "base/units.h"
#include "records/journal/run_status.h"

namespace wq::net::contact {

namespace {

// Two managers may have one name on purpose: workers serve one after the other.
void print_same_name(const frames::Contact& contact, const std::function<void(const std::string&)>& say) {
    const auto others = find_managers(registry_folder(), ".*", 0);
    if (!others || !say) return;
    for (const Listing& other : *others)
        if (other.contact.name == contact.name)
            return say(quote_for_message(contact.name) + " is also the name of the manager " +
                       frames::to_text({other.contact.host, other.contact.port}) +
                       ": a worker serves one of them, then the other");
}

}  // namespace

Result<OpenPort> open_port(frames::TcpListenOptions options, const KnownAs& as,
                           const std::function<void(const std::string&)>& say) {
    frames::Contact contact;
    contact.key = options.key;
    contact.tls = options.tls.has_value();
    contact.pid = ::getpid();
    contact.host = records::journal::host_name();
    auto listener = frames::TcpListener::open(std::move(options));
    if (!listener) return listener.error();
    contact.port = (*listener)->port();
    contact.certificate_digest = (*listener)->certificate_digest();
    contact.started = wall_now();
    OpenPort port(std::move(*listener), std::move(contact));
    if (const Status listed = port.change(as, port.contact().key, say); !listed) return listed.error();
    return port;
}

Status OpenPort::change(const KnownAs& as, const std::string& key,
                        const std::function<void(const std::string&)>& say) {
    auto announcement = announcement_of(as.catalog);
    if (!announcement && !as.name.empty()) return announcement.error();
    contact_.name = as.name;
    contact_.key = key;
    entry.reset();
    announcer.reset();
    note.reset();
    if (as.name.empty()) {
        frames::Contact noted = contact();
        if (!as.generated) noted.key.clear();
        if (as.noted) note = note_manager(registry_folder(), noted);
        return success();
    }
    print_same_name(contact_, say);
    auto listed = register_manager(registry_folder(), contact(), say);
    if (!listed) return listed.error();
    entry = std::move(*listed);
    if (!announcement->hosts.empty())
        announcer = std::make_unique<Announcer>(std::move(*announcement), "this manager", say);
    return success();
}

frames::Contact OpenPort::contact() const {
    frames::Contact contact = contact_;
    contact.addresses = frames::own_addresses();
    return contact;
}

void OpenPort::remove_contact(const std::string& path) const {
    const auto contact = frames::read_contact(path);
    if (contact && contact->pid == contact_.pid && contact->host == contact_.host &&
        contact->started == contact_.started)
        ::unlink(path.c_str());
}

}  // namespace wq::net::contact
