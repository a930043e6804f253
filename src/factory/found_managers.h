// The managers of HOST PORT, of a contact file or of a name; all of a name, since a factory serves them
// together.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "factory/factory.h"
#include "net/catalog/catalog_client.h"
#include "net/contact/manager_record.h"
#include "net/contact/named_managers.h"
#include "net/frames/tcp_dialer.h"
#include "net/messages/messages.h"

namespace wq::factory {

struct ManagerPlace {
    std::vector<net::frames::HostPort> managers;  // addresses of one manager
    std::string contact;                          // a file; without both, PoolSettings::manager_name
    std::string password_file;
    bool ssl = false;
    std::string ssl_ca;
    net::catalog::CatalogHosts catalogs{};      // where names are looked for, besides the registry
    Duration limit = std::chrono::seconds(15);  // for answers
    int stop = -1;                              // a descriptor: once readable, no answer is waited for
};

struct FoundManager {
    std::string name;  // for messages
    net::frames::TcpDialOptions dial;
    std::optional<net::contact::Listing> listing{};  // of one found by its name
    // Of one that only a catalog server knows: nothing proves that it is its.
    std::optional<net::contact::ManagerRecord> record{};
};
// Managers that only a catalog knows, to be asked at once: anyone may announce more.
inline constexpr std::size_t most_recorded_managers = 100;

// `name`: a regular expression for names, if the place has neither addresses nor a contact file. Reads the
// files anew: a manager that is started again writes a new one. Those of the registry come first. `say` gets
// lines about catalog servers that do not answer, and their records that are skipped. `finder`: of the
// place's catalogs, if they are asked often. Errors: those of read_contact(), read_password() and
// net::contact::find_managers().
Result<std::vector<FoundManager>> find_managers(const ManagerPlace& place, const std::string& name,
                                                const std::function<void(const std::string&)>& say = {},
                                                net::contact::NameFinder* finder = nullptr);

// What the user says of keys and TLS goes before what a contact has. Errors: those of read_password().
Status add_security(const ManagerPlace& place, net::frames::TcpDialOptions& dial);

// Those of the registry, then of the others the first most_recorded_managers.
std::vector<FoundManager> to_ask(const net::contact::NamedManagers& named,
                                 const std::function<void(const std::string&)>& say = {});

class FoundManagers final : public Managers {
  public:
    explicit FoundManagers(ManagerPlace place) : place_(std::move(place)) {}
    Result<Answers> ask(const PoolSettings& settings) override;

    // Lines for the user, each once.
    std::function<void(const std::string&)> say = [](const std::string&) {};

  private:
    ManagerAnswer answer_of(const FoundManager& manager, Result<net::messages::StatusReport> report);
    void print_once(const std::string& what, const std::string& line);

    ManagerPlace place_;
    std::optional<net::contact::NameFinder> finder_;  // remembers which server does not answer
    std::set<std::string> said_;
    bool found_ = false;  // the contact file was there
};

// Asks managers for their status: one connection each.

// All at once; an answer has at most 64 MiB, and TcpLimits::most_frame_bytes. The answers, in the order of
// `managers`. Errors: unreachable: no answer within `limit`, or before `stop` became readable; not_allowed:
// another key, version or certificate. They do not name the manager.
std::vector<Result<net::messages::StatusReport>> ask_status(
    const std::vector<net::frames::TcpDialOptions>& managers, Duration limit, int stop = -1);

// The same for a listing, which is none of the shapes. `take` gets its parts as they arrive, with the
// manager's place in `managers`: JSON objects separated by commas, or nothing. `limit`: for the first part
// and between two.
std::vector<Status> ask_listing(
    const std::vector<net::frames::TcpDialOptions>& managers, net::messages::StatusOf what, Duration limit,
    const std::function<void(std::size_t manager, const std::string& records)>& take);

// Whether each address of an error of these refused the connection: nobody listens there.
bool nobody_listens(const Error& error);

}  // namespace wq::factory
