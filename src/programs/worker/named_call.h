// A call to a manager that is first looked for by its name, on a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/background_thread.h"
#include "base/wake.h"
#include "net/contact/named_managers.h"
#include "net/frames/tcp_dialer.h"

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
    net::frames::Heard heard() const override { return line_ ? line_->heard() : net::frames::Heard{}; }

  private:
    void take(Found found);

    std::function<Result<std::unique_ptr<net::frames::TcpDialer>>(Found)> dial_;
    Wake stop_;
    std::unique_ptr<net::frames::TcpDialer> line_;
    std::optional<Error> failure_;
    bool told_failure_ = false;
    BackgroundThread search_;
};

}  // namespace wq::programs::worker
