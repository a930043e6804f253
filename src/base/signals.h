// Delivers signals through a descriptor. They are blocked before MPI starts its threads, which inherit the
// mask, so that only we receive them.
#pragma once

#include <optional>

#include "base/result.h"

namespace wq {

class Signals {
  public:
    // INT, TERM, HUP, USR1 and USR2, because batch systems send different signals before the end of a job. If
    // the program ignores one, it stays ignored (but INT): `nohup` keeps a program alive at logout.
    static Result<Signals> block();
    Signals(Signals&& other) noexcept;
    Signals& operator=(Signals&&) = delete;
    ~Signals();

    int descriptor() const { return descriptor_; }
    std::optional<int> next();  // never waits

    static bool stops(int signal);  // whether it is one of these

  private:
    explicit Signals(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
};

}  // namespace wq
