// Ends a session in a program that continues to use MPI.
#pragma once

#include <functional>

#include "ranks/mpi/mpi_transport.h"

namespace wq::manager::run {

// Collective: waits until all ranks call it and MpiTransport::settled(). Calls `waits` once, after a minute.
// If `well` is false, a rank may be lost and never come: then returns false after 10 s.
bool settle(ranks::mpi::MpiTransport& ranks, bool well, const std::function<void()>& waits);

}  // namespace wq::manager::run
