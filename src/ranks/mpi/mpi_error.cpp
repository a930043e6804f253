#include "ranks/mpi/mpi_error.h"

#include <mpi.h>

namespace wq::ranks::mpi {

Error mpi_error(const std::string& call, int code) {
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
    std::string message = call + ": " + std::string(text, static_cast<std::size_t>(length));
    for (char& c : message) {
        if (c == '\n') c = ' ';
    }
    return {ExitCode::unreachable, message};
}

}  // namespace wq::ranks::mpi
