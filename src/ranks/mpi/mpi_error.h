// Converts MPI's return codes to our errors.
#pragma once

#include <string>

#include "base/result.h"

namespace wq::ranks::mpi {

// "MPI_Comm_dup: MPI_ERR_COMM: invalid communicator", with ExitCode::unreachable.
Error mpi_error(const std::string& call, int code);

}  // namespace wq::ranks::mpi
