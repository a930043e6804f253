#include "manager/run/dismiss_ranks.h"

#include "manager/run/rank_loop.h"
#include "net/messages/messages.h"

namespace wq::manager::run {

void dismiss_ranks(net::frames::Transport& ranks, std::uint32_t count, const std::string& why) {
    const std::string frame = net::messages::encode(net::messages::Dismiss{why, false});
    for (std::uint32_t rank = 1; rank < count; ++rank) ranks.send(net::frames::PeerId(rank), frame);
    run::let_frames_leave(ranks);
}

}  // namespace wq::manager::run
