// A manager's port for TCP workers, and how they find it: the contact, and the entry under the manager's
// name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/contact/announcer.h"
#include "net/contact/registry.h"
#include "net/frames/contact.h"
#include "net/frames/tcp_listener.h"

namespace wq::net::contact {

// Where workers find a manager by its name.
struct KnownAs {
    std::string name{};      // empty: nowhere
    std::string catalog{};   // servers besides the registry, as of --catalog; empty: $CATALOG_HOST
    bool noted = false;      // without a name, it is noted for those who look at all managers of the user
    bool generated = false;  // the key: a note has it, but no password of the user
};

class OpenPort {
  public:
    OpenPort(std::unique_ptr<frames::TcpListener> that, frames::Contact contact)
        : listener(std::move(that)), contact_(std::move(contact)) {}

    std::unique_ptr<frames::TcpListener> listener;  // may be moved to whoever polls it
    std::unique_ptr<Registration> entry;            // if the manager has a name
    std::unique_ptr<Announcer> announcer;           // likewise, if a catalog server is named
    std::unique_ptr<RepeatedWork> note;             // if it has none, and is noted

    std::uint16_t number() const { return contact_.port; }
    frames::Contact contact() const;  // with the machine's current addresses
    Status write_contact(const std::string& path) const { return frames::write_contact(path, contact()); }
    // Another name and key; the entry and the announcer are others then. Errors: those of announcement_of(),
    // where nothing has changed, and register_manager().
    Status change(const KnownAs& as, const std::string& key,
                  const std::function<void(const std::string&)>& say);
    // Unless another manager has overwritten it.
    void remove_contact(const std::string& path) const;

  private:
    frames::Contact contact_;
};

// `say` gets the messages of the entry and the announcer. Errors: those of TcpListener::open() and
// OpenPort::change().
Result<OpenPort> open_port(frames::TcpListenOptions options, const KnownAs& as,
                           const std::function<void(const std::string&)>& say);

}  // namespace wq::net::contact
