// The managers of HOST PORT, of a contact file or of a name; all of a name, since a factory serves them
// together.
#pragma once

#include <string>
#include <vector>

#include "factory/factory.h"
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

class FoundManagers final : public Managers {
  public:
    explicit FoundManagers(ManagerPlace place) : place_(std::move(place)) {}
    // Reads the files anew: a manager that is started again writes a new one.
    Result<Answers> ask(const Settings& settings) override;

  private:
    struct Found {
        std::string name;
        net::TcpDialOptions dial;
    };
    Result<std::vector<Found>> find(const Settings& settings) const;
    Status add_security(net::TcpDialOptions& dial) const;

    ManagerPlace place_;
    bool found_ = false;  // the contact file was there
};

}  // namespace wq::factory
