#include "manager/run/dismiss_ranks.h"

#include "manager/run/rank_loop.h"
#include "net/messages/messages.h"

namespace wq::run {

void dismiss_ranks(net::Transport& ranks, std::uint32_t count, const std::string& why) {
    const std::string frame = wire::encode(wire::Dismiss{why, false});
    for (std::uint32_t rank = 1; rank < count; ++rank) ranks.send(net::PeerId(rank), frame);
    run::let_frames_leave(ranks);
}

}  // namespace wq::run
