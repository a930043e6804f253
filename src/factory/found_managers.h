// The managers of HOST PORT, of a contact file or of a name; all of a name, since a factory serves them
// together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "factory/factory.h"
#include "listening/registry.h"
#include "net/tcp_dialer.h"

namespace wq::factory {

struct ManagerPlace {
    std::vector<net::HostPort> managers;  // addresses of one manager
    std::string contact;                  // a file; without both, Settings::manager_name
    std::string password_file;
    bool ssl = false;
    std::string ssl_ca;
    Duration limit = std::chrono::seconds(15);  // for answers
    int stop = -1;                              // a descriptor: once readable, no answer is waited for
};

struct FoundManager {
    std::string name;  // for messages
    net::TcpDialOptions dial;
    std::optional<listening::Listing> listing{};  // of one found by its name
};
// `name`: a regular expression for the registry, if the place has neither addresses nor a contact file. Reads
// the files anew: a manager that is started again writes a new one. Errors: those of read_contact(),
// read_password() and listening::find_managers().
Result<std::vector<FoundManager>> find_managers(const ManagerPlace& place, const std::string& name);

class FoundManagers final : public Managers {
  public:
    explicit FoundManagers(ManagerPlace place) : place_(std::move(place)) {}
    Result<Answers> ask(const Settings& settings) override;

  private:
    ManagerPlace place_;
    bool found_ = false;  // the contact file was there
};

}  // namespace wq::factory
