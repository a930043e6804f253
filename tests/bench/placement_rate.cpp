// The time to place a task: many tasks of mixed widths on many nodes of 256 cores, by best fit over the nodes
// and then over each node's packages, NUMA nodes and caches. Prints a table in CPU time.
//
//   bench_placement [TASKS [NODES]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "node/machine/placement.h"

namespace {

using namespace wq::node::machine;

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// 2 packages of 4 NUMA nodes of 4 caches of 8 cores, and a GPU at each NUMA node.
std::vector<CoreGroups> places() {
    std::vector<CoreGroups> all;
    for (int core = 0; core < 256; ++core) all.push_back({core / 128, core / 32, core / 8});
    return all;
}

// Nodes ordered by free resources: for GPU tasks by GPUs, for others by cores. The fullest with room goes
// first.
class Pool {
  public:
    explicit Pool(std::size_t nodes) : nodes_(nodes, Placement(places(), {0, 1, 2, 3, 4, 5, 6, 7})) {
        for (std::size_t node = 0; node < nodes; ++node) enter(node);
    }
    bool seat(const Ask& ask) {
        const bool by_gpus = ask.gpus >= one_whole;
        const Index& index = by_gpus ? by_gpus_ : by_cores_;
        const std::int64_t least = by_gpus ? ask.gpus : ask.cores;
        for (auto at = index.lower_bound({least, 0}); at != index.end(); ++at) {
            const std::size_t node = at->second;
            const std::pair<std::int64_t, std::int64_t> before = left(node);
            auto seat = nodes_[node].take(ask);
            if (!seat) continue;
            leave(node, before);
            enter(node);
            seated_.emplace_back(node, std::move(*seat));
            return true;
        }
        return false;
    }
    void end_oldest() {
        const auto [node, seat] = std::move(seated_.front());
        seated_.pop_front();
        leave(node, left(node));
        nodes_[node].give_back(seat);
        enter(node);
    }

  private:
    using Index = std::set<std::pair<std::int64_t, std::size_t>>;

    std::pair<std::int64_t, std::int64_t> left(std::size_t node) const {
        return {nodes_[node].free_cores(), nodes_[node].free_gpus()};
    }
    void enter(std::size_t node) {
        by_cores_.emplace(left(node).first, node);
        by_gpus_.emplace(left(node).second, node);
    }
    void leave(std::size_t node, const std::pair<std::int64_t, std::int64_t>& had) {
        by_cores_.erase({had.first, node});
        by_gpus_.erase({had.second, node});
    }

    std::vector<Placement> nodes_;
    Index by_cores_;
    Index by_gpus_;
    std::deque<std::pair<std::size_t, Seat>> seated_;
};

struct Mix {
    const char* what;
    std::int64_t least;  // thousandths of a core
    std::int64_t most;
    std::int64_t gpus;
};

// Tasks start until none fits; then for each new task the oldest ends.
void measure(const Mix& mix, std::size_t tasks, std::size_t nodes) {
    Pool pool(nodes);
    std::mt19937 random(1);
    std::vector<Ask> asks;
    for (std::size_t task = 0; task < tasks; ++task) {
        const auto range = static_cast<std::uint32_t>((mix.most - mix.least) / mix.least + 1);
        asks.push_back({mix.least * (1 + static_cast<std::int64_t>(random() % range)), mix.gpus});
    }
    const double begun = cpu_seconds();
    std::size_t ended = 0;
    for (const Ask& ask : asks)
        while (!pool.seat(ask)) {
            pool.end_oldest();
            ++ended;
        }
    const double took = cpu_seconds() - begun;
    std::printf("%-28s %zu tasks on %zu nodes of 256 cores: %6.2f us a placement, %zu ended for others\n",
                mix.what, tasks, nodes, took / static_cast<double>(tasks) * 1e6, ended);
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as soon as it is measured
    const std::size_t tasks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
    const std::size_t nodes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000;
    for (const Mix& mix :
         {Mix{"1 core", 1000, 1000, 0}, Mix{"1 to 16 cores", 1000, 16'000, 0},
          Mix{"1 to 256 cores", 1000, 256'000, 0}, Mix{"quarters up to 4 cores", 250, 4000, 0},
          Mix{"1 to 16 cores and a GPU", 1000, 16'000, 1000},
          Mix{"1 to 16 cores, 1/4 GPU", 1000, 16'000, 250}})
        measure(mix, tasks, std::max<std::size_t>(nodes, 1));
}
