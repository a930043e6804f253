// MPI's return codes as our errors.
#pragma once

#include <string>

#include "base/result.h"

namespace wq::transport {

// "MPI_Comm_dup: MPI_ERR_COMM: invalid communicator", of ExitCode::unreachable.
Error mpi_error(const std::string& call, int code);

}  // namespace wq::transport
