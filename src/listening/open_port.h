// A manager's port for TCP workers, and how they find it: the contact, and the entry under the manager's
// name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "listening/registry.h"
#include "net/contact.h"
#include "net/tcp_listener.h"

namespace wq::listening {

class OpenPort {
  public:
    OpenPort(std::unique_ptr<net::TcpListener> that, net::Contact contact)
        : listener(std::move(that)), contact_(std::move(contact)) {}

    std::unique_ptr<net::TcpListener> listener;  // may be moved to whoever polls it
    std::unique_ptr<Registration> entry;         // if the manager has a name

    std::uint16_t number() const { return contact_.port; }
    net::Contact contact() const;  // with the machine's current addresses
    Status write_contact(const std::string& path) const { return net::write_contact(path, contact()); }
    // Another name ("": none) and key; the entry is another one then. Errors: those of register_manager().
    Status change(const std::string& name, const std::string& key,
                  const std::function<void(const std::string&)>& say);
    // Unless another manager has overwritten it.
    void remove_contact(const std::string& path) const;

  private:
    net::Contact contact_;
};

// `name`: empty for none. `say` gets the registry entry's messages. Errors: those of TcpListener::open() and
// register_manager().
Result<OpenPort> open_port(net::TcpListenOptions options, const std::string& name,
                           const std::function<void(const std::string&)>& say);

}  // namespace wq::listening
