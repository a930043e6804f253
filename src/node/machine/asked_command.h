// A command of the system that answers a question, with a time limit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/descriptor.h"
#include "base/time.h"

namespace wq::node::machine {

class AskedCommand {
  public:
    AskedCommand() = default;
    enum class Errors { dropped, kept };  // its stderr
    // Starts it, found by PATH, in a process group of its own.
    explicit AskedCommand(const std::vector<std::string>& command, Errors errors = Errors::dropped);
    AskedCommand(AskedCommand&&) noexcept = default;
    AskedCommand& operator=(AskedCommand&&) noexcept = default;
    ~AskedCommand() { end(); }

    // Its whole output, if it ended within `limit` and before the descriptor `stop` became readable;
    // otherwise, or if it writes more than a MiB, it is killed.
    std::optional<std::string> answer(Duration limit, int stop = -1);
    bool stopped() const { return stopped_; }  // `stop` became readable first

    // After an answer: its exit code; 128 + the signal that ended it; 127: it could not be started.
    int exit_code() const { return exit_code_; }
    // The end of what it wrote to stderr, if that is kept.
    const std::string& errors() const { return error_text_; }

  private:
    void end();
    void read_errors();
    bool ends_by(Instant until);

    Child child_;
    int exit_code_ = 127;
    Descriptor out_;
    Descriptor errors_;
    std::string error_text_;
    bool stopped_ = false;
};

}  // namespace wq::node::machine
