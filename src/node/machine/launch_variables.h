// Which variables mpirun, srun or mpiexec set for a rank, and which the user sets for MPI: a program that a
// rank starts must inherit only the user's.
#pragma once

#include <string_view>

namespace wq::node::machine {

class LaunchVariables {
  public:
    explicit LaunchVariables(char* const* environment);

    // Whether whoever started us set the variable, for us alone.
    bool has(std::string_view name) const;

  private:
    bool of_open_mpi_ = false;  // a rank
};

}  // namespace wq::node::machine
