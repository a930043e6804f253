// How all ranks learn, at the end of a communicator's use, what each has sent to each: by a collective that
// nobody waits in (MPI_Ialltoall).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace wq::transport {

class MpiSettlement {
  public:
    // Collective. `communicator` is a Fortran handle; `sent`: what this rank sent, by rank. `well` false:
    // this rank cannot say, or has lost another.
    MpiSettlement(int communicator, std::vector<std::int64_t> sent, bool well);
    ~MpiSettlement();
    MpiSettlement(const MpiSettlement&) = delete;
    MpiSettlement& operator=(const MpiSettlement&) = delete;

    // Gives MPI one round of progress. What follows holds when all ranks have told.
    bool all_told();
    bool all_well() const;
    std::int64_t sent_by(std::size_t rank) const;  // to this rank

  private:
    struct Exchange;
    std::unique_ptr<Exchange> exchange_;
};

}  // namespace wq::transport
