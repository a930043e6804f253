#include "manager/run/mpi_node_share.h"

#include <algorithm>
#include <cstdlib>

#include "base/fields.h"
#include "node/machine/batch_job.h"
#include "node/machine/divide.h"
#include "node/machine/topology.h"

namespace wq::manager::run {

namespace {

const char* from_environment(const char* name) {
    return std::getenv(name);
}

// Input of a rank for the division.
struct RankInput {
    bool works = false;
    std::vector<int> units;  // allowed
    node::machine::RankGpus gpus;
};
template <class V>
void fields(RankInput& rank, V& visit) {
    visit(rank.works, rank.units, rank.gpus.variable, rank.gpus.bound_as, rank.gpus.names);
}

std::string describe_rank(bool works) {
    return bytes_of(RankInput{works, node::machine::CpuMask::of_process(0).indexes(),
                              node::machine::gpus_of_rank(from_environment)});
}

struct NodeRanks {
    node::machine::CpuMask allowed;  // the union: mpirun may have bound each rank to one core
    std::vector<node::machine::RankGpus> gpus;
    std::vector<bool> works;
    std::size_t workers = 0;
};

NodeRanks read_ranks(const std::vector<std::string>& blobs) {
    NodeRanks ranks;
    for (const std::string& blob : blobs) {
        RankInput rank;
        fields_are(blob, rank);
        ranks.works.push_back(rank.works);
        ranks.workers += rank.works ? 1 : 0;
        for (const int unit : rank.units) ranks.allowed.add(unit);
        ranks.gpus.push_back(std::move(rank.gpus));
    }
    return ranks;
}

struct Node {
    node::machine::Machine machine;  // with the GPUs of all its ranks
    std::int64_t allocated_cores = 0;
};

Result<Node> discover_node(const NodeRanks& ranks, const node::machine::NodeGpus& gpus) {
    std::string names;
    for (const std::string& name : gpus.names) names += (names.empty() ? "" : ",") + name;
    const auto variable = [&](const char* name) {
        return gpus.variable == name ? names.c_str() : from_environment(name);
    };
    auto machine = node::machine::discover(ranks.allowed, variable);
    if (!machine) return machine.error();
    // Limits of one process do not apply to all ranks together.
    machine->bounds = node::machine::of_node(machine->bounds);
    node::machine::Bounds batch = node::machine::of_node(node::machine::batch_bounds(
        node::machine::batch_environment(), {machine->cores.size(), machine->threads()}));
    if (gpus.differ)
        std::erase_if(batch, [](const node::machine::Bound& bound) {
            return bound.kind == node::machine::BoundKind::gpus;
        });
    node::machine::restrict_to(*machine, batch);
    return Node{std::move(*machine), node::machine::allocated_cores(batch).value_or(0)};
}

// All shares, one blob per rank. Only the node's first rank computes them, because reading the topology of a
// large node takes a while.
Result<std::string> divide_node(const NodeRanks& ranks, const std::string& folder) {
    const node::machine::NodeGpus gpus = node::machine::gpus_of_node(ranks.gpus);
    const auto node = discover_node(ranks, gpus);
    if (!node) return node.error();
    const node::machine::Machine& machine = node->machine;
    const std::size_t workers = std::max<std::size_t>(ranks.workers, 1);
    std::vector<node::machine::NodeSlice> slices =
        node::machine::divide(machine, node::machine::free_disk_mb(folder), workers);
    for (node::machine::NodeSlice& slice : slices)
        if (gpus.of_each_rank) node::machine::take_all_gpus(slice, machine);
    std::vector<std::string> shares;
    std::size_t next = 0;
    for (const bool works : ranks.works) {
        const bool first = works && next == 0;
        const auto remarks = first ? node::machine::warnings(machine, workers) : std::vector<std::string>();
        shares.push_back(
            bytes_of(works ? slices[next++] : node::machine::NodeSlice{}, node->allocated_cores, remarks));
    }
    return bytes_of(shares);
}

}  // namespace

Result<NodeShare> share_node(const ranks::mpi::MpiSession& session, const std::string& folder, bool works) {
    const auto blobs = session.gather_node(describe_rank(works));
    if (!blobs) return blobs.error();
    std::string mine;
    std::optional<Error> failed;
    if (session.node_rank() == 0) {
        auto shares = divide_node(read_ranks(*blobs), folder);
        if (shares)
            mine = std::move(*shares);
        else
            failed = shares.error();
    }
    // Everyone joins the gathering, even if the division failed, so that nobody waits for ever.
    const auto gathered = session.gather_node(mine);
    if (failed) return *failed;
    if (!gathered) return gathered.error();
    std::vector<std::string> shares;
    NodeShare share;
    const auto rank = static_cast<std::size_t>(session.node_rank());
    if (!fields_are(gathered->front(), shares) || rank >= shares.size() ||
        !fields_are(shares[rank], share.slice, share.allocated_cores, share.remarks))
        return Error{
            ExitCode::internal,
            "the first rank of this node could not divide the node; the message of that rank says why"};
    share.offers = {static_cast<std::int64_t>(share.slice.cores.size()), share.slice.memory_mb,
                    share.slice.disk_mb, static_cast<std::int64_t>(share.slice.gpus.size())};
    return share;
}

}  // namespace wq::manager::run
