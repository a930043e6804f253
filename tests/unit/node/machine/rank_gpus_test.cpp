// The GPUs of all ranks of a node.
#include "node/machine/divide.h"

#include <gmock/gmock.h>

#include <map>

namespace wq::node::machine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using RankEnvironment = std::map<std::string, std::string>;

RankGpus rank(const RankEnvironment& environment) {
    return gpus_of_rank([&](const char* name) {
        const auto at = environment.find(name);
        return at == environment.end() ? nullptr : at->second.c_str();
    });
}

TEST(RankGpus, WhatEachRankIsGivenIsTheNodes) {
    const NodeGpus node =
        gpus_of_node({rank({{"CUDA_VISIBLE_DEVICES", "2"}}), rank({{"CUDA_VISIBLE_DEVICES", "0,2"}}),
                      rank({{"CUDA_VISIBLE_DEVICES", ""}}), rank({})});
    EXPECT_EQ(node.variable, "CUDA_VISIBLE_DEVICES");
    EXPECT_THAT(node.names, ElementsAre("2", "0"));
    EXPECT_TRUE(node.differ);
    EXPECT_FALSE(node.of_each_rank);
}

TEST(RankGpus, WhatAllAreGivenTheyShare) {
    const RankGpus all = rank({{"ROCR_VISIBLE_DEVICES", "0,1"}});
    const NodeGpus node = gpus_of_node({all, all});
    EXPECT_EQ(node.variable, "ROCR_VISIBLE_DEVICES");
    EXPECT_THAT(node.names, ElementsAre("0", "1"));
    EXPECT_FALSE(node.differ);
    EXPECT_FALSE(node.of_each_rank);
    EXPECT_THAT(gpus_of_node({rank({}), rank({})}).variable, IsEmpty());
}

TEST(RankGpus, TheSameNumberIsAnotherDeviceWhereSlurmBoundEachRank) {
    const auto bound = [](const char* local, const char* names = "0", const char* each = "1") {
        return rank(
            {{"CUDA_VISIBLE_DEVICES", names}, {"SLURM_GPUS_PER_TASK", each}, {"SLURM_LOCALID", local}});
    };
    EXPECT_TRUE(gpus_of_node({bound("0"), bound("1")}).of_each_rank);
    EXPECT_TRUE(gpus_of_node({bound("0", "0,1", "a100:2"), bound("1", "0,1", "a100:2")}).of_each_rank);
    EXPECT_FALSE(gpus_of_node({bound("0"), bound("0")}).of_each_rank) << "one task of Slurm started both";
    EXPECT_FALSE(gpus_of_node({bound("0", "0,1"), bound("1", "0,1")}).of_each_rank) << "they see all";
    EXPECT_FALSE(gpus_of_node({bound("0", "GPU-a"), bound("1", "GPU-a")}).of_each_rank) << "it is one device";
    const NodeGpus apart = gpus_of_node({bound("0", "0"), bound("1", "1")});
    EXPECT_FALSE(apart.of_each_rank);
    EXPECT_THAT(apart.names, ElementsAre("0", "1"));
}

}  // namespace
}  // namespace wq::node::machine
