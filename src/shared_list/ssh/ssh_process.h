// An ssh process that this one talks to by its standard input and output.
#pragma once

#include <string>
#include <vector>

#include "base/child.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"

namespace wq::shared_list::ssh {

// The words of the variable RUNTASK_SSH ("ssh -F FILE -p 2222"), or "ssh".
std::vector<std::string> ssh_command();

class SshProcess {
  public:
    // Starts it in a separate session, so that Ctrl-C does not end it: the worker must still record the ends
    // of its lines.
    static Result<SshProcess> start(const std::vector<std::string>& words);

    int in() const { return in_.get(); }  // a socket; none of the three blocks
    int out() const { return out_.get(); }
    int errors() const { return errors_.get(); }

    void close_in() { in_.reset(); }
    void close_errors() { errors_.reset(); }
    // Waits for its end, at most so long; then kills it. Returns its exit code (see Child).
    int end(Duration limit);

  private:
    SshProcess() = default;
    Child child_;
    Descriptor in_;
    Descriptor out_;
    Descriptor errors_;
};

}  // namespace wq::shared_list::ssh
