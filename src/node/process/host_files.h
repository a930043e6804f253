// Files that name this node with as many slots as a task has cores. mpirun reads one of them in place of the
// batch system's list of nodes. There is one pair for each number of cores, made when a task first needs it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace wq::node::process {

class HostFiles {
  public:
    explicit HostFiles(std::string folder) : folder_(std::move(folder)) {}  // empty: there are no files

    struct Paths {
        std::string open_mpi;  // also for PRRTE; "HOST slots=N"
        std::string hydra;     // MPICH's; "HOST:N"
    };
    // Empty paths: the files cannot be written.
    const Paths& of(std::int64_t slots);
    // Whether a path is that of such a file: a task within a task inherits one.
    static bool made(std::string_view path);

  private:
    std::string folder_;
    std::map<std::int64_t, Paths> paths_;
};

}  // namespace wq::node::process
