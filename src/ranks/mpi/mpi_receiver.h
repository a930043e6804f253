// A ring of posted receives, from any rank. Nothing here waits. A receive that never completes (its sender
// was killed midway) costs only its slot: messages match receives in the order of posting, so a slot that a
// later one has overtaken is replaced.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace wq::ranks::mpi {

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
