#include "host/topology.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "host/divide.h"

namespace wq::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

CpuMask mask_of(int first, int end) {
    CpuMask mask;
    for (int pu = first; pu < end; ++pu) mask.add(pu);
    return mask;
}

Machine machine(const std::string& description, const CpuMask& allowed) {
    return discover_synthetic(description, allowed).or_throw();
}

TEST(Topology, CoresComeInTopologicalOrderWithTheirThreads) {
    const Machine both = machine("package:2 core:32 pu:2", mask_of(0, 128));
    ASSERT_THAT(both.cores, SizeIs(64));
    EXPECT_THAT(both.cores[0], ElementsAre(0, 1));
    EXPECT_THAT(both.cores[63], ElementsAre(126, 127));
    EXPECT_EQ(both.cores_of_machine, 64U);
}

TEST(Topology, InterleavedNumbersAreSortedByPlaceNotByNumber) {
    // Real machines number the second threads, or every other package, last.
    const Machine odd = machine("package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", mask_of(0, 8));
    EXPECT_THAT(odd.cores,
                ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2, 6), ElementsAre(3, 7)));
}

TEST(Topology, APartlyAllowedCoreCountsWithWhatIsAllowed) {
    const Machine half = machine("package:1 core:4 pu:2", mask_of(1, 5));
    EXPECT_THAT(half.cores, ElementsAre(ElementsAre(1), ElementsAre(2, 3), ElementsAre(4)));
    EXPECT_EQ(half.cores_of_machine, 4U);
}

TEST(Topology, AMaskWithoutAnyUnitIsAnError) {
    EXPECT_FALSE(discover_synthetic("package:1 core:4 pu:1", mask_of(8, 9)).ok());
    EXPECT_FALSE(discover_synthetic("no such thing", mask_of(0, 1)).ok());
}

TEST(Topology, ThisMachineHasCoresAndMemory) {
    const CpuMask allowed = CpuMask::of_process(0);
    const Machine here = discover(allowed).or_throw();
    std::size_t pus = 0;
    for (const auto& core : here.cores) pus += core.size();
    EXPECT_EQ(pus, allowed.count());
    EXPECT_GT(here.memory_mb, 0);
    EXPECT_GT(free_disk_mb("/tmp"), 0);
    EXPECT_EQ(free_disk_mb("/no/such/folder"), 0);
}

TEST(Divide, EveryCoreGoesToExactlyOneRankAndSharesAreEven) {
    const Machine node = machine("package:2 core:32 pu:2", mask_of(0, 128));
    for (std::size_t ranks = 1; ranks <= 64; ++ranks) {
        const std::vector<Slice> slices = divide(node, 1000003, ranks);
        std::vector<std::vector<int>> joined;
        std::int64_t memory = 0;
        std::int64_t disk = 0;
        for (const Slice& slice : slices) {
            EXPECT_TRUE(slice.bind);
            EXPECT_GE(slice.cores.size(), 64 / ranks);
            EXPECT_LE(slice.cores.size(), 64 / ranks + 1);
            joined.insert(joined.end(), slice.cores.begin(), slice.cores.end());
            memory += slice.memory_mb;
            disk += slice.disk_mb;
        }
        EXPECT_EQ(joined, node.cores) << ranks << " ranks";  // in order: each slice is a run of neighbours
        EXPECT_EQ(memory, node.memory_mb);
        EXPECT_EQ(disk, 1000003);
    }
}

TEST(Divide, MoreRanksThanCoresShareThemUnbound) {
    Machine node = machine("package:1 core:2 pu:1", mask_of(0, 2));
    node.memory_mb = 3000;
    const std::vector<Slice> slices = divide(node, 300, 3);
    ASSERT_THAT(slices, SizeIs(3));
    for (const Slice& slice : slices) {
        EXPECT_FALSE(slice.bind);
        EXPECT_THAT(slice.cores, ElementsAre(ElementsAre(0, 1)));
        EXPECT_EQ(slice.memory_mb, 1000);
        EXPECT_EQ(slice.disk_mb, 100);
    }
}

TEST(Divide, GpusGoRoundEvenly) {
    Machine node = machine("package:1 core:8 pu:1", mask_of(0, 8));
    node.gpus = {{"0", "1", "2", "MIG-x"}, "CUDA_VISIBLE_DEVICES"};
    const std::vector<Slice> two = divide(node, 0, 2);
    EXPECT_THAT(two[0].gpus, ElementsAre("0", "1"));
    EXPECT_THAT(two[1].gpus, ElementsAre("2", "MIG-x"));
    std::multiset<std::string> given;
    for (const Slice& slice : divide(node, 0, 6)) {
        given.insert(slice.gpus.begin(), slice.gpus.end());
        EXPECT_EQ(slice.gpu_variable, "CUDA_VISIBLE_DEVICES");
    }
    EXPECT_EQ(given, (std::multiset<std::string>{"0", "1", "2", "MIG-x"}));
}

TEST(Divide, ABindingToOneCoreOfManyIsWarnedAbout) {
    const std::string node = "package:2 core:32 pu:2";
    EXPECT_THAT(warnings(machine(node, mask_of(0, 2)), 1), ElementsAre(HasSubstr("bound to 1 of 64 cores")));
    EXPECT_THAT(warnings(machine(node, mask_of(0, 4)), 2), ElementsAre(HasSubstr("bound to 2 of 64 cores")));
    EXPECT_THAT(warnings(machine(node, mask_of(0, 128)), 1), IsEmpty());
    EXPECT_THAT(warnings(machine(node, mask_of(0, 32)), 1),
                IsEmpty());  // a quarter of a node, as a job may have
    EXPECT_THAT(warnings(machine("package:1 core:2 pu:1", mask_of(0, 2)), 4),
                ElementsAre(HasSubstr("4 ranks share 2 cores")));
}

TEST(Divide, ACpuQuotaBelowTheCoresIsWarnedAbout) {
    Machine node = machine("package:1 core:8 pu:1", mask_of(0, 8));
    node.cpu_quota = 1.5;
    EXPECT_THAT(warnings(node, 1), ElementsAre(HasSubstr("1.5 of 8 cores")));
    node.cpu_quota = 8;
    EXPECT_THAT(warnings(node, 1), IsEmpty());
}

class GpuFolder : public testing::Test {
  protected:
    GpuFolder()
        : root(std::filesystem::temp_directory_path() /
               ("wq-gpus-" + std::to_string(getpid()) + "-" +
                testing::UnitTest::GetInstance()->current_test_info()->name())) {
        std::filesystem::create_directories(root);
    }
    ~GpuFolder() override { std::filesystem::remove_all(root); }
    void file(const std::string& path, const std::string& text = "") const {
        std::filesystem::create_directories((root / path).parent_path());
        std::ofstream(root / path) << text;
    }
    Gpus find() {
        return find_gpus({root.string(),
                          [this](const char* name) -> const char* {
                              const auto value = variables.find(name);
                              return value == variables.end() ? nullptr : value->second.c_str();
                          }},
                         decided);
    }
    std::filesystem::path root;
    std::map<std::string, std::string> variables;
    bool decided = false;
};

TEST_F(GpuFolder, WithoutAnyNothingIsDecided) {
    EXPECT_THAT(find().names, IsEmpty());
    EXPECT_FALSE(decided);
}

TEST_F(GpuFolder, TheDriverListsThoseWhoseDevicesMayBeOpened) {
    for (const char* bus : {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"})
        file(std::string("proc/driver/nvidia/gpus/") + bus + "/information");
    file("dev/nvidia0");
    file("dev/nvidia1");
    EXPECT_THAT(find().names, ElementsAre("0", "1"));
    EXPECT_EQ(find().variable, "CUDA_VISIBLE_DEVICES");
}

TEST_F(GpuFolder, AmdsListHoldsProcessorsToo) {
    file("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 64\nsimd_count 0\n");
    file("sys/class/kfd/kfd/topology/nodes/1/properties", "cpu_cores_count 0\nsimd_count 416\n");
    EXPECT_THAT(find().names, ElementsAre("0"));
    EXPECT_EQ(find().variable, "ROCR_VISIBLE_DEVICES");
}

TEST_F(GpuFolder, WhatABatchSystemGaveGoesFirst) {
    file("proc/driver/nvidia/gpus/0000:01:00.0/information");
    file("dev/nvidia0");
    variables["CUDA_VISIBLE_DEVICES"] = "2,GPU-8a3f,MIG-1/2/3";
    EXPECT_THAT(find().names, ElementsAre("2", "GPU-8a3f", "MIG-1/2/3"));
    variables["CUDA_VISIBLE_DEVICES"] = "";
    EXPECT_THAT(find().names, IsEmpty());
    EXPECT_TRUE(decided);
    variables["CUDA_VISIBLE_DEVICES"] = "NoDevFiles";
    EXPECT_THAT(find().names, IsEmpty());
    variables["CUDA_VISIBLE_DEVICES"] = "1,-1,3";
    EXPECT_THAT(find().names, ElementsAre("1"));
}

}  // namespace
}  // namespace wq::host
