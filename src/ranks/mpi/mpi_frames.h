// Frames to and from ranks, as fragments (fragments.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wq::ranks::mpi {

// Sends frames to ranks: split, sent by Isend, tested, never waited for. MPI holds at most `most_outstanding`
// fragments per rank at a time; the rest queues here. Buffers of a rank that is given up are abandoned: MPI
// may hold their addresses forever.
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

// A ring of posted receives, from any rank. Nothing here waits. A receive that never completes (its sender
// was killed midway) costs only its slot: messages match receives in the order of posting, so a slot that a
// later one has overtaken is replaced.
class MpiReceiver {
  public:
    // `communicator` is a Fortran handle. Posts `depth` receives of kFragmentBytes.
    MpiReceiver(int communicator, std::size_t depth);
    ~MpiReceiver();  // cancels the posted receives

    struct Message {
        int source = 0;
        std::string_view bytes;  // valid until the next call
    };
    // The next message, if any; otherwise gives MPI one round of progress.
    std::optional<Message> next();

    std::uint64_t failed() const;  // receives that ended with an error

  private:
    struct Ring;
    std::unique_ptr<Ring> ring_;
};

}  // namespace wq::ranks::mpi
