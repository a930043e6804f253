#include "cli/node_share.h"

#include <sched.h>

namespace wq::cli {

Result<NodeShare> share_node(const transport::MpiSession& session, const std::string&, bool works) {
    NodeShare share;
    if (!works) return share;
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    std::vector<int> all;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) all.push_back(cpu);
    const int ranks = session.node_size();
    for (std::size_t index = 0; index < all.size(); ++index)
        if (static_cast<int>(index) % ranks == session.node_rank()) share.slice.cores.push_back({all[index]});
    if (share.slice.cores.empty()) share.slice.cores.push_back({all[0]});
    share.slice.memory_mb = 1024;
    share.slice.disk_mb = 1024;
    share.slice.bind = false;
    share.offers = {static_cast<std::int64_t>(share.slice.cores.size()), 1024, 1024, 0};
    return share;
}

}  // namespace wq::cli
