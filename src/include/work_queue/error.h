// Constructors of this library throw it if they cannot start: a port in use, a missing password file, no key
// although one is required. Other functions return their errors.
#pragma once

#include <stdexcept>
#include <string>

namespace [[gnu::visibility("default")]] wq {

class SetupError : public std::runtime_error {
  public:
    // `message`: one line with the problem and its remedy. `exit_code`, for main(): 64 wrong options, 65
    // unusable file, 69 port or MPI not available, 77 not allowed.
    SetupError(const std::string& message, int exit_code)
        : std::runtime_error(message), exit_code_(exit_code) {}
    int exit_code() const noexcept { return exit_code_; }

  private:
    int exit_code_;
};

}  // namespace gnu::visibility("default")]]wq
