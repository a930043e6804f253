// What a constructor of this library throws where nothing can begin: a port in use, a password file that is
// not there, no key where one is required. Everything else is told by values.
#pragma once

#include <stdexcept>
#include <string>

namespace [[gnu::visibility("default")]] wq {

class SetupError : public std::runtime_error {
  public:
    // `message`: one line that says what is wrong and what to do about it. `exit_code`: what main() may
    // return; 64 wrong options, 65 a file that cannot be used, 69 a port or an MPI that cannot be had, 77 not
    // allowed.
    SetupError(const std::string& message, int exit_code)
        : std::runtime_error(message), exit_code_(exit_code) {}
    int exit_code() const noexcept { return exit_code_; }

  private:
    int exit_code_;
};

}  // namespace wq
