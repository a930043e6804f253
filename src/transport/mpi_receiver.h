// A ring of receives posted ahead, from any rank. Nothing here waits, and a receive that never completes (its
// sender was killed in the middle) costs its slot and no more: messages match receives in the order of
// posting, so a slot that a later one has overtaken is put aside and replaced.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace wq::transport {

class MpiReceiver {
  public:
    // `communicator` is a Fortran handle. Posts `depth` receives of kFragmentBytes.
    MpiReceiver(int communicator, std::size_t depth);
    ~MpiReceiver();  // cancels what is posted

    struct Message {
        int source = 0;
        std::string_view bytes;  // until the next call
    };
    // The next message that is there; gives MPI one round of progress when there is none.
    std::optional<Message> next();

    std::uint64_t stuck() const;   // slots put aside and not complete up to now
    std::uint64_t failed() const;  // receives that ended with an error

  private:
    struct Ring;
    std::unique_ptr<Ring> ring_;
};

}  // namespace wq::transport
