// Result<T>: a value, or an Error that says in one line what is wrong and what to do about it. Expected
// failures (bad input, a peer that left, a full disk) are returned as values; see the rules in
// share/doc/developer.md. Calling `value()` on an error is a bug and aborts the program.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <variant>

namespace wq {

// Exit codes of all programs of the project (from sysexits.h, if it has one).
enum class ExitCode : int {
    ok = 0,            // all tasks succeeded
    tasks_failed = 1,  // some task failed or could never run
    usage = 64,        // wrong options
    bad_input = 65,    // a file that cannot be used; the message names file and line
    unreachable = 69,  // no manager or no worker can be reached
    internal = 70,     // our bug
    refused = 71,      // the system refuses what is needed, or does not take what is written to stdout
    interrupted = 75,  // stopped before the end; --resume continues
    not_allowed = 77,  // permission or authentication
};

constexpr int to_int(ExitCode code) {
    return static_cast<int>(code);
}

struct Error {
    ExitCode code = ExitCode::internal;
    std::string message;  // one line, no newline at its end
};

// The exception for a broken environment; main() prints its line and exits with its code.
struct Failure : std::exception {
    explicit Failure(Error why) : error(std::move(why)) {}
    const char* what() const noexcept override { return error.message.c_str(); }

    Error error;
};

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    const T& value() const& { return const_cast<Result*>(this)->checked(); }
    T& value() & { return checked(); }
    T&& value() && { return std::move(checked()); }
    const T& operator*() const& { return value(); }
    T& operator*() & { return checked(); }
    T* operator->() { return &checked(); }
    const T* operator->() const { return &value(); }

    const Error& error() const { return std::get<1>(state_); }

    // Returns the value, or throws Failure. For main() and start-up code.
    T or_throw() && {
        if (!ok()) throw Failure{error()};
        return std::move(checked());
    }

  private:
    T& checked() {
        if (!ok()) {
            std::fprintf(stderr, "bug: value() of an error: %s\n", error().message.c_str());
            std::abort();
        }
        return std::get<0>(state_);
    }
    std::variant<T, Error> state_;
};

struct Unit {};
using Status = Result<Unit>;
inline Status success() {
    return Unit{};
}

}  // namespace wq
