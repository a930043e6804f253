// The end of a session in a program that continues to use MPI.
#pragma once

#include <functional>

#include "mpi/mpi_transport.h"

namespace wq::run {

// Collective: until all ranks have come here and what MpiTransport::settled() says. Calls `waits` once, when
// that has taken a minute. Where `well` is false a rank may be lost that never comes: then false after 10 s.
bool settle(mpi::MpiTransport& ranks, bool well, const std::function<void()>& waits);

}  // namespace wq::run
