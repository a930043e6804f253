// The ranks of an MPI job, which are workers of a Python program's queue.
#pragma once

#include <memory>
#include <stdexcept>

#include "work_queue/mpi.h"

namespace wq::python {

class PyRanks {
  public:
    explicit PyRanks(std::unique_ptr<MpiSession> session);
    ~PyRanks();
    // Throws RuntimeError's exception after end().
    MpiSession& session() {
        if (!session_) throw std::runtime_error("these ranks have ended");
        return *session_;
    }
    void end();

  private:
    std::unique_ptr<MpiSession> session_;
};

}  // namespace wq::python
