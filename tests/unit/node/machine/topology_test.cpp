#include "node/machine/topology.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "node/machine/divide.h"
#include "support/folder.h"
#include "unit/node/machine/machines.h"

namespace wq::node::machine {
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
    EXPECT_GT(free_disk_mb("/tmp/no/such/folder"), 0) << "it would be created";
}

TEST(Topology, GpusThatWereFoundAreNotLookedForAgain) {
    const CpuMask allowed = CpuMask::of_process(0);
    const Gpus gpus{{"GPU-aaaa", "7"}, "CUDA_VISIBLE_DEVICES", {{}, {}}, "nvidia-smi"};
    const Machine here = discover_again(allowed, gpus).or_throw();
    EXPECT_THAT(here.gpus.names, ElementsAre("GPU-aaaa", "7"));
    EXPECT_EQ(binding_bound(here.bounds, BoundKind::gpus)->source, "nvidia-smi");
    EXPECT_EQ(here.cores, discover(allowed).or_throw().cores);
}

TEST(Divide, EveryCoreGoesToExactlyOneRankAndSharesAreEven) {
    const Machine node = machine("package:2 core:32 pu:2", mask_of(0, 128));
    for (std::size_t ranks = 1; ranks <= 64; ++ranks) {
        const std::vector<NodeSlice> slices = divide(node, 1000003, ranks);
        std::vector<std::vector<int>> joined;
        std::int64_t memory = 0;
        std::int64_t disk = 0;
        for (const NodeSlice& slice : slices) {
            EXPECT_EQ(slice.bind, Binding::core);
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
    const std::vector<NodeSlice> slices = divide(node, 300, 3);
    ASSERT_THAT(slices, SizeIs(3));
    for (const NodeSlice& slice : slices) {
        EXPECT_EQ(slice.bind, Binding::none);
        EXPECT_THAT(slice.cores, ElementsAre(ElementsAre(0, 1)));
        EXPECT_EQ(slice.memory_mb, 1000);
        EXPECT_EQ(slice.disk_mb, 100);
    }
}

TEST(Divide, GpusGoRoundEvenly) {
    Machine node = machine("package:1 core:8 pu:1", mask_of(0, 8));
    node.gpus = {{"0", "1", "2", "MIG-x"}, "CUDA_VISIBLE_DEVICES", {}, {}};
    const std::vector<NodeSlice> two = divide(node, 0, 2);
    EXPECT_THAT(two[0].gpus, ElementsAre("0", "1"));
    EXPECT_THAT(two[1].gpus, ElementsAre("2", "MIG-x"));
    std::multiset<std::string> given;
    for (const NodeSlice& slice : divide(node, 0, 6)) {
        given.insert(slice.gpus.begin(), slice.gpus.end());
        EXPECT_EQ(slice.gpu_variable, "CUDA_VISIBLE_DEVICES");
    }
    EXPECT_EQ(given, (std::multiset<std::string>{"0", "1", "2", "MIG-x"}));
}

TEST(Divide, ABindingToOneCoreOfManyIsWarnedAbout) {
    const std::string node = "package:2 core:32 pu:2";
    EXPECT_THAT(warnings(machine(node, mask_of(0, 2)), 1), ElementsAre(HasSubstr("uses 1 of 64 cores")));
    EXPECT_THAT(warnings(machine(node, mask_of(0, 4)), 2), ElementsAre(HasSubstr("uses 2 of 64 cores")));
    EXPECT_THAT(warnings(machine(node, mask_of(0, 128)), 1), IsEmpty());
    EXPECT_THAT(warnings(machine(node, mask_of(0, 32)), 1),
                IsEmpty());  // a quarter of a node, as a job may have
    Machine of_job = machine(node, mask_of(0, 2));
    restrict_to(of_job, {{BoundKind::cores, 16, "SLURM_CPUS_ON_NODE", BoundOf::node, false, {}}});
    EXPECT_THAT(warnings(of_job, 1), ElementsAre(HasSubstr("uses 1 of 16 cores")));
    restrict_to(of_job, {{BoundKind::cores, 1, "SLURM_CPUS_ON_NODE", BoundOf::node, false, {}}});
    EXPECT_THAT(warnings(of_job, 1), IsEmpty()) << "it asked for no more";
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
    void file(const std::string& path, const std::string& text = "") const {
        std::filesystem::create_directories((root / path).parent_path());
        std::ofstream(root / path) << text;
    }
    Gpus find() {
        return find_gpus({root.string(),
                          [this](const char* name) -> const char* {
                              const auto value = variables.find(name);
                              return value == variables.end() ? nullptr : value->second.c_str();
                          },
                          [this](const std::vector<std::string>& command) -> std::optional<std::string> {
                              asked.push_back(command.front());
                              return answer;
                          }},
                         decided);
    }
    const wq::test::Folder folder;
    const std::filesystem::path root{folder.path()};
    std::map<std::string, std::string> variables;
    std::vector<std::string> asked;
    std::optional<std::string> answer;
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
    for (const char* none : {"NoDevFiles", "10000"}) {
        variables["CUDA_VISIBLE_DEVICES"] = none;
        EXPECT_THAT(find().names, IsEmpty()) << none;
    }
    variables["CUDA_VISIBLE_DEVICES"] = "1,-1,3";
    EXPECT_THAT(find().names, ElementsAre("1"));
}

TEST_F(GpuFolder, NamesAreLookedUpByNumberAndUuid) {
    file("proc/driver/nvidia/gpus/0000:11:00.0/information",
         "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-aaaa-1\nDevice Minor: \t 1\n");
    file("proc/driver/nvidia/gpus/0000:21:00.0/information", "GPU UUID: \t GPU-bbbb-2\nDevice Minor: \t 0\n");
    file("dev/nvidia0");
    file("dev/nvidia1");
    variables["CUDA_VISIBLE_DEVICES"] = "1,GPU-aaaa,MIG-GPU-bbbb-2/1/0,MIG-cccc";
    Gpus gpus = find();
    const Machine node = test::two_packages();
    find_nodes(gpus, node.layout, root.string());
    ASSERT_THAT(gpus.devices, SizeIs(4));
    EXPECT_EQ(gpus.devices[0].pci, "0000:21:00.0");
    EXPECT_EQ(gpus.devices[0].node, 1);
    EXPECT_EQ(gpus.devices[1].node, 0);
    EXPECT_EQ(gpus.devices[2].pci, "0000:21:00.0");
    EXPECT_EQ(gpus.devices[3].node, -1);  // opaque, but usable
    EXPECT_FALSE(absent_gpus(gpus));
}

TEST_F(GpuFolder, ADeviceThatAControlGroupDeniesIsNotCounted) {
    file("proc/driver/nvidia/gpus/0000:11:00.0/information", "Device Minor: 3\n");
    file("proc/driver/nvidia/gpus/0000:21:00.0/information", "Device Minor: 5\n");
    file("dev/nvidia5");
    Gpus gpus = find();
    EXPECT_THAT(gpus.names, ElementsAre("0"));
    EXPECT_EQ(gpus.devices[0].pci, "0000:21:00.0");
}

TEST_F(GpuFolder, ADriverThatListsNothingIsAskedByItsCommand) {
    answer = "00000000:01:00.0, GPU-aaaa-1\n00000001:C3:00.0, GPU-bbbb-2\n";
    EXPECT_THAT(find().names, IsEmpty());
    EXPECT_THAT(asked, IsEmpty()) << "there is no driver";
    file("dev/nvidiactl");
    const Gpus gpus = find();
    EXPECT_THAT(asked, ElementsAre("nvidia-smi"));
    EXPECT_THAT(gpus.names, ElementsAre("0", "1"));
    EXPECT_EQ(gpus.source, "nvidia-smi");
    EXPECT_EQ(gpus.devices[0].pci, "0000:01:00.0");
    EXPECT_EQ(gpus.devices[1].pci, "0001:c3:00.0");
    answer = "NVIDIA-SMI has failed because it could not communicate with the driver.\n";
    EXPECT_THAT(find().names, IsEmpty());
    answer.reset();
    EXPECT_THAT(find().names, IsEmpty());
    asked.clear();
    file("proc/driver/nvidia/gpus/0000:11:00.0/information", "Device Minor: 3\n");
    EXPECT_THAT(find().names, IsEmpty()) << "a control group denies it";
    EXPECT_THAT(asked, IsEmpty());
}

TEST_F(GpuFolder, AmdsAddressIsItsLocation) {
    file("sys/class/kfd/kfd/topology/nodes/10/properties", "simd_count 416\nlocation_id 49920\ndomain 0\n");
    file("sys/class/kfd/kfd/topology/nodes/9/properties", "simd_count 416\nlocation_id 25088\ndomain 1\n");
    file("sys/bus/pci/devices/0000:c3:00.0/numa_node", "3\n");
    Gpus gpus = find();
    find_nodes(gpus, test::two_packages().layout, root.string());
    ASSERT_THAT(gpus.devices, SizeIs(2));
    EXPECT_EQ(gpus.devices[0].pci, "0001:62:00.0");
    EXPECT_EQ(gpus.devices[1].pci, "0000:c3:00.0");
    EXPECT_EQ(gpus.devices[1].node, 3);
}

TEST_F(GpuFolder, NumbersThatNoDriverListsAreTold) {
    variables["CUDA_VISIBLE_DEVICES"] = "0,7";
    EXPECT_THAT(absent_gpus(find()).value_or(""),
                HasSubstr("CUDA_VISIBLE_DEVICES names GPU 0, which no driver"));
    file("proc/driver/nvidia/gpus/0000:11:00.0/information");
    file("dev/nvidia0");
    EXPECT_THAT(absent_gpus(find()).value_or(""), HasSubstr("names GPU 7"));
    variables["CUDA_VISIBLE_DEVICES"] = "0";
    EXPECT_FALSE(absent_gpus(find()));
}

TEST_F(GpuFolder, AUuidThatTheDriverDoesNotListIsTold) {
    variables["CUDA_VISIBLE_DEVICES"] = "GPU-aaaa,GPU-cccc";
    EXPECT_THAT(absent_gpus(find()).value_or(""), HasSubstr("names GPU GPU-aaaa, which no driver"));
    file("proc/driver/nvidia/gpus/0000:11:00.0/information", "GPU UUID: GPU-aaaa-1\nDevice Minor: 0\n");
    file("dev/nvidia0");
    EXPECT_THAT(absent_gpus(find()).value_or(""), HasSubstr("names GPU GPU-cccc, which no driver"));
    variables["CUDA_VISIBLE_DEVICES"] = "GPU-aaaa";
    EXPECT_FALSE(absent_gpus(find()));
    variables["CUDA_VISIBLE_DEVICES"] = "MIG-cccc";
    EXPECT_FALSE(absent_gpus(find())) << "slices are listed nowhere";
    file("proc/driver/nvidia/gpus/0000:21:00.0/information", "Device Minor: 0\n");
    variables["CUDA_VISIBLE_DEVICES"] = "GPU-cccc";
    EXPECT_FALSE(absent_gpus(find())) << "it may be the one that does not tell";
}

TEST_F(GpuFolder, OfADriverWithoutItsListNothingIsToldToBeAbsent) {
    file("dev/nvidiactl");
    for (const char* names : {"GPU-aaaa", "0,1"}) {
        variables["CUDA_VISIBLE_DEVICES"] = names;
        EXPECT_FALSE(absent_gpus(find())) << names;
    }
    file("proc/driver/nvidia/gpus/0000:11:00.0/information", "GPU UUID: GPU-bbbb-1\nDevice Minor: 0\n");
    variables["CUDA_VISIBLE_DEVICES"] = "GPU-aaaa";
    EXPECT_THAT(absent_gpus(find()).value_or(""), HasSubstr("names GPU GPU-aaaa"));
}

TEST_F(GpuFolder, WhatIsNamedTwiceIsOneDevice) {
    variables["CUDA_VISIBLE_DEVICES"] = "0,1,0";
    EXPECT_THAT(find().names, ElementsAre("0", "1"));
}

// HIP counts within ROCR's devices, and ROCR's variable stays unchanged.
TEST_F(GpuFolder, HipsVariableIsALimitToo) {
    file("sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 416\nlocation_id 256\ndomain 0\n");
    file("sys/class/kfd/kfd/topology/nodes/2/properties", "simd_count 416\nlocation_id 512\ndomain 0\n");
    file("sys/class/kfd/kfd/topology/nodes/3/properties", "simd_count 416\nlocation_id 768\ndomain 0\n");
    variables["HIP_VISIBLE_DEVICES"] = "1";
    EXPECT_THAT(find().names, ElementsAre("1"));
    EXPECT_EQ(find().variable, "HIP_VISIBLE_DEVICES");
    EXPECT_EQ(find().devices[0].pci, "0000:02:00.0");
    EXPECT_EQ(find().devices[0].vendor, "AMD");
    variables["ROCR_VISIBLE_DEVICES"] = "2,0";
    EXPECT_EQ(find().devices[0].pci, "0000:01:00.0");
    EXPECT_EQ(find().variable, "HIP_VISIBLE_DEVICES");
    variables.erase("HIP_VISIBLE_DEVICES");
    EXPECT_THAT(find().names, ElementsAre("2", "0"));
}

TEST(Topology, TheLayoutSaysWhereEachCoreStands) {
    const Machine node = test::two_packages();
    EXPECT_EQ(node.layout.packages, 2);
    EXPECT_EQ(node.layout.caches, 16);
    EXPECT_EQ(node.layout.cache_name, "L3");
    ASSERT_THAT(node.layout.nodes, SizeIs(8));
    EXPECT_EQ(node.place(0), (CoreGroups{0, 0, 0}));
    EXPECT_EQ(node.place(127), (CoreGroups{1, 7, 15}));
    ASSERT_THAT(node.gpus.devices, SizeIs(8));
    for (int gpu = 0; gpu < 8; ++gpu) EXPECT_EQ(node.gpus.devices[static_cast<std::size_t>(gpu)].node, gpu);
    EXPECT_EQ(node.gpus.variable, "CUDA_VISIBLE_DEVICES");
}

TEST(Topology, WhatTheFileForbidsIsABoundOfItsOwn) {
    const Machine node = test::holes();
    EXPECT_THAT(node.cores, SizeIs(11));
    EXPECT_THAT(node.layout.cores, SizeIs(16));
    const auto bound = binding_bound(node.bounds, BoundKind::cores);
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->amount, 11);
    EXPECT_THAT(bound->source, HasSubstr("holes.xml"));
}

// The environment belongs to this process only.
class DescribedMachine : public testing::Test {
  protected:
    ~DescribedMachine() override {
        unsetenv("HWLOC_XMLFILE");
        unsetenv("HWLOC_SYNTHETIC");
    }
};

TEST_F(DescribedMachine, NothingOfThisOneIsSaidOfIt) {
    setenv("HWLOC_SYNTHETIC", "package:2 numa:2(memory=8GB) core:16 pu:2", 1);
    const Machine node = discover(mask_of(0, 1)).or_throw();
    EXPECT_THAT(node.cores, SizeIs(64));
    EXPECT_FALSE(node.this_machine);
    EXPECT_EQ(node.origin, "HWLOC_SYNTHETIC package:2 numa:2(memory=8GB) core:16 pu:2");
    EXPECT_EQ(divide(node, 0, 1).front().bind, Binding::none);
    EXPECT_FALSE(divide(node, 0, 1).front().of_this_machine);
}

TEST_F(DescribedMachine, AWrongDescriptionIsAnErrorAndNotThisMachine) {
    setenv("HWLOC_SYNTHETIC", "package:lots", 1);
    const auto synthetic = discover(mask_of(0, 1));
    ASSERT_FALSE(synthetic.ok());
    EXPECT_EQ(synthetic.error().code, ExitCode::bad_input);
    EXPECT_THAT(synthetic.error().message, HasSubstr("HWLOC_SYNTHETIC: 'package:lots'"));
    setenv("HWLOC_XMLFILE", "/no/such/file.xml", 1);
    const auto file = discover(mask_of(0, 1));
    ASSERT_FALSE(file.ok());
    EXPECT_THAT(file.error().message, HasSubstr("HWLOC_XMLFILE: '/no/such/file.xml'"));
}

}  // namespace
}  // namespace wq::node::machine
