// The GPUs of a node as the environments of its ranks name them: srun may give each rank others.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace wq::host {

struct RankGpus {
    std::string variable;            // that names them; empty: none does
    std::vector<std::string> names;  // as in Gpus
    // Of a rank that the batch system gave GPUs of its own: which of the node's ranks it is, in its words.
    std::string bound_as{};
};

RankGpus gpus_of_rank(const std::function<const char*(const char*)>& variable);

struct NodeGpus {
    std::string variable{};            // empty: no rank's environment names any
    std::vector<std::string> names{};  // of all ranks, each once
    bool differ = false;               // no environment alone tells them all
    // Each rank sees others under the same numbers, as where control groups hide the rest: no rank can be
    // given those of another.
    bool of_each_rank = false;
};

NodeGpus gpus_of_node(const std::vector<RankGpus>& ranks);

}  // namespace wq::host
