// Frames on their way to ranks: cut, sent by Isend, tested, never waited for. At most `most_outstanding`
// fragments of a rank are with MPI at a time; what is above queues here. Buffers of a rank that is given up
// are abandoned: MPI may hold their addresses for ever.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wq::transport {

class MpiSender {
  public:
    MpiSender(int communicator, int ranks, std::size_t most_outstanding);
    ~MpiSender();

    // Leaves at once when nothing is under way to that rank, else with the next advance(): so bursts of small
    // frames share fragments.
    void send(int rank, std::string frame);

    // Tests what is under way and sends what may follow. Returns whether anything moved.
    bool advance();

    void give_up(int rank);
    bool idle() const;

    std::uint64_t fragments() const;  // sent
    std::vector<std::int64_t> fragments_by_rank() const;
    std::uint64_t abandoned() const;  // buffers left to MPI for ever
    std::uint64_t failed() const;     // sends that MPI refused

  private:
    struct Lanes;
    std::unique_ptr<Lanes> lanes_;
};

}  // namespace wq::transport
