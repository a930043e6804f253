// Sends frames to ranks: split, sent by Isend, tested, never waited for. MPI holds at most `most_outstanding`
// fragments per rank at a time; the rest queues here. Buffers of a rank that is given up are abandoned: MPI
// may hold their addresses forever.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wq::ranks::mpi {

class MpiSender {
  public:
    MpiSender(int communicator, int ranks, std::size_t most_outstanding);
    ~MpiSender();

    // Sent at once if nothing is in flight to that rank, else with the next advance(), so that bursts of
    // small frames share fragments.
    void send(int rank, std::string frame);

    // Tests what is in flight and sends what may follow. Returns whether anything moved.
    bool advance();

    void give_up(int rank);
    bool idle() const;

    std::vector<std::int64_t> fragments_by_rank() const;
    std::uint64_t abandoned() const;  // buffers left to MPI forever
    std::uint64_t failed() const;     // sends that MPI refused

  private:
    struct Lanes;
    std::unique_ptr<Lanes> lanes_;
};

}  // namespace wq::ranks::mpi
