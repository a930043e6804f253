// Finds the manager of a worker by address, contact file or name. Every call reads the options again, because
// a restarted manager writes a new file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "net/contact/named_managers.h"
#include "net/frames/contact.h"
#include "net/frames/tcp_dialer.h"
#include "worker/worker_session.h"
#include "programs/worker/worker_options.h"

namespace wq::worker_program {

class ManagerCalls {
  public:
    // `warn` gets lines for the user. Errors: the password cannot be read; no regular expression.
    static Result<ManagerCalls> of(const WorkerProgramOptions& options,
                                   std::function<void(const std::string&)> warn = {});

    // Errors: unreachable if no manager can be called now; another code if further calls are useless.
    Result<worker::Call> begin(worker::Whom whom);

    const net::TcpDialOptions& last() const { return last_; }  // how the last call was made

    // Warns the user about the security of the connection; empty: nothing to warn about.
    std::string warning() const;

    // A manager of the name refused our last call, or we did not call it because nothing proves who it is.
    // The line is about the last such manager; empty: there was none.
    struct Refusal {
        std::string line{};
        bool by_all = false;
    };
    Refusal refusal() const;

  private:
    explicit ManagerCalls(const WorkerProgramOptions& options);
    bool by_name() const { return !options_->manager_regex.empty(); }
    Result<net::Contact> contact_of_file() const;
    Result<net::Contact> contact_of(worker::Whom whom);
    Result<net::Contact> registered_contact();
    net::Contact contact_of_ours();
    Result<net::Contact> choose(listening::NamedManagers those);
    void remark_on(const listening::NamedManagers& found);
    net::TcpDialOptions secured(net::TcpDialOptions dial) const;
    bool is_proven(const net::Contact& contact) const;
    Result<std::unique_ptr<net::TcpDialer>> dial(net::TcpDialOptions dial);
    std::unique_ptr<net::TcpDialer> search();
    bool is_refused(const net::TcpDialer& line);
    bool others_left();
    void note_welcome();

    const WorkerProgramOptions* options_;
    std::function<void(const std::string&)> warn_;
    std::string password_;
    std::string of_password_;  // a warning; "": none
    net::TcpDialOptions last_;
    // With a name: whom the last search found, the manager called last, the one that accepted us last, and
    // the calls of each of those found.
    struct Calls {
        std::uint64_t count = 0;  // since it accepted us
        std::string refusal{};    // of the last one; empty: it did not refuse
    };
    std::optional<listening::NamePattern> pattern_;
    std::shared_ptr<listening::NameFinder> finder_;
    listening::NamedManagers found_;
    std::optional<listening::NamedManager> called_, ours_;
    std::map<std::string, Calls> calls_;
    std::string unproven_;  // of the last search; empty: all prove who they are, or need not
    std::set<std::string> remarked_;
};

}  // namespace wq::worker_program
