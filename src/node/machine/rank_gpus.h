// The GPUs of a node as the environments of its ranks name them: srun may give each rank different ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace wq::node::machine {

struct RankGpus {
    std::string variable;            // names them; empty: none does
    std::vector<std::string> names;  // as in Gpus
    // For a rank with its own GPUs from the batch system: its index among the node's ranks, as the batch
    // system counts.
    std::string bound_as{};
};

RankGpus gpus_of_rank(const std::function<const char*(const char*)>& variable);

struct NodeGpus {
    std::string variable{};            // empty: no rank's environment names any
    std::vector<std::string> names{};  // of all ranks, each once
    bool differ = false;               // no single environment has them all
    // The same numbers mean different GPUs for each rank, as when control groups hide the rest: no rank can
    // use those of another.
    bool of_each_rank = false;
};

NodeGpus gpus_of_node(const std::vector<RankGpus>& ranks);

}  // namespace wq::node::machine
