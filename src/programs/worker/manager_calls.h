// A call to a manager that is first looked for by its name, on a thread of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/background.h"
#include "base/descriptor.h"
#include "net/contact/named_managers.h"
#include "net/frames/contact.h"
#include "net/frames/tcp_dialer.h"
#include "programs/worker/worker_options.h"
#include "worker/worker_session.h"

namespace wq::programs::worker {

class NamedCall final : public net::frames::TcpDialer {
  public:
    using Found = Result<net::contact::NamedManagers>;
    // On the thread: whom there is, until `stop` is readable. `dial`: on the loop's thread, connects to one
    // of them.
    NamedCall(std::function<Found(int stop)> find,
              std::function<Result<std::unique_ptr<net::frames::TcpDialer>>(Found)> dial);
    ~NamedCall() override;

    void send(net::frames::PeerId peer, std::string frame) override;
    bool poll(std::vector<net::frames::Arrival>& inbox) override;
    void expect_until(Instant until) override;
    void close(net::frames::PeerId peer) override;
    bool idle() const override { return !line_ || line_->idle(); }
    std::vector<int> descriptors() const override;
    std::vector<net::frames::Note> take_notes() override;

    std::optional<Error> failure() const override { return line_ ? line_->failure() : failure_; }
    std::string security() const override { return line_ ? line_->security() : std::string(); }
    std::string local_address() const override { return line_ ? line_->local_address() : std::string(); }
    net::frames::Heard last_heard() const override {
        return line_ ? line_->last_heard() : net::frames::Heard{};
    }

  private:
    void take(Found found);

    std::function<Result<std::unique_ptr<net::frames::TcpDialer>>(Found)> dial_;
    Wake stop_;
    std::unique_ptr<net::frames::TcpDialer> line_;
    std::optional<Error> failure_;
    bool told_failure_ = false;
    BackgroundThread search_;
};

// Finds the manager of a worker by address, contact file or name. Every call reads the options again, because
// a restarted manager writes a new file.
class ManagerCalls {
  public:
    // `warn` gets lines for the user. Errors: the password cannot be read; no regular expression.
    static Result<ManagerCalls> of(const WorkerProgramOptions& options,
                                   std::function<void(const std::string&)> warn = {});

    // Errors: unreachable if no manager can be called now; another code if further calls are useless.
    Result<wq::worker::Call> begin(wq::worker::Whom whom);

    const net::frames::TcpDialOptions& last() const { return last_; }  // how the last call was made

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
    Result<net::frames::Contact> contact_of_file() const;
    Result<net::frames::Contact> contact_of(wq::worker::Whom whom);
    Result<net::frames::Contact> registered_contact();
    net::frames::Contact contact_of_ours();
    Result<net::frames::Contact> choose(net::contact::NamedManagers those);
    void remark_on(const net::contact::NamedManagers& found);
    net::frames::TcpDialOptions secured(net::frames::TcpDialOptions dial) const;
    bool is_proven(const net::frames::Contact& contact) const;
    Result<std::unique_ptr<net::frames::TcpDialer>> dial(net::frames::TcpDialOptions dial);
    std::unique_ptr<net::frames::TcpDialer> search();
    bool is_refused(const net::frames::TcpDialer& line);
    bool others_left();
    void note_welcome();

    const WorkerProgramOptions* options_;
    std::function<void(const std::string&)> warn_;
    std::string password_;
    std::string of_password_;  // a warning; "": none
    net::frames::TcpDialOptions last_;
    // With a name: whom the last search found, the manager called last, the one that accepted us last, and
    // the calls of each of those found.
    struct Calls {
        std::uint64_t count = 0;  // since it accepted us
        std::string refusal{};    // of the last one; empty: it did not refuse
    };
    std::optional<net::contact::NamePattern> pattern_;
    std::shared_ptr<net::contact::NameFinder> finder_;
    net::contact::NamedManagers found_;
    std::optional<net::contact::NamedManager> called_, ours_;
    std::map<std::string, Calls> calls_;
    std::string unproven_;  // of the last search; empty: all prove who they are, or need not
    std::set<std::string> remarked_;
};

}  // namespace wq::programs::worker
