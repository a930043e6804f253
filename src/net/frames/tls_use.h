// Whoever uses OpenSSL keeps one meanwhile, for a moment only: no fork on another thread then leaves its
// locks closed in the child. The thread's end is part of it, when OpenSSL frees what it has for the thread.
#pragma once

#include "base/fork_gate.h"

namespace wq::net::frames {

class TlsUse {
  public:
    TlsUse();

  private:
    NoFork held_;
};

}  // namespace wq::net::frames
