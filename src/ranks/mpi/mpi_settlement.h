// At the end of a communicator's use, tells all ranks how much each has sent to each: by a non-blocking
// collective (MPI_Ialltoall).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace wq::ranks::mpi {

class MpiSettlement {
  public:
    // Collective. `communicator` is a Fortran handle; `sent`: what this rank sent, by rank. `well` is false
    // if this rank does not know, or has lost another.
    MpiSettlement(int communicator, std::vector<std::int64_t> sent, bool well);
    ~MpiSettlement();
    MpiSettlement(const MpiSettlement&) = delete;
    MpiSettlement& operator=(const MpiSettlement&) = delete;

    // Gives MPI one round of progress. The functions below are valid once it returns true.
    bool all_told();
    bool all_well() const;
    std::int64_t sent_by(std::size_t rank) const;  // to this rank

  private:
    struct Exchange;
    std::unique_ptr<Exchange> exchange_;
};

}  // namespace wq::ranks::mpi
