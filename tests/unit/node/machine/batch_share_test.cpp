#include "node/machine/batch_job.h"

#include <gmock/gmock.h>

#include <map>

#include "node/machine/divide.h"
#include "unit/node/machine/machines.h"

namespace wq::node::machine::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Environment = std::map<std::string, std::string>;

using Files = std::map<std::string, std::string>;

// Both must live as long as the sources.
BatchSources sources(const Environment& environment, const Files& files) {
    const auto find = [](const auto& map, const std::string& key) -> const char* {
        const auto at = map.find(key);
        return at == map.end() ? nullptr : at->second.c_str();
    };
    return {[=, &environment](const char* name) { return find(environment, name); },
            [=, &files](const std::string& path) -> std::optional<std::string> {
                const char* text = find(files, path);
                if (text == nullptr) return std::nullopt;
                return text;
            },
            "node2.site.org"};
}

Bounds bounds_of(const Environment& environment, const Files& files = {}) {
    return batch_bounds(sources(environment, files));
}

std::string job_of(const Environment& environment, const Files& files = {}) {
    return batch_job(sources(environment, files));
}

std::optional<WallMicros> start_of(const Environment& environment, const Files& files = {}) {
    return batch_start(sources(environment, files));
}

std::optional<std::int64_t> nodes_of(const Environment& environment, const Files& files = {}) {
    return batch_nodes(sources(environment, files));
}

TEST(BatchJob, IsNamedAsItsDriverNamesIt) {
    EXPECT_EQ(job_of({}), "");
    EXPECT_EQ(job_of({{"SLURM_JOB_ID", "77"}}), "77");
    EXPECT_EQ(job_of({{"SLURM_JOB_ID", "78"}, {"SLURM_ARRAY_JOB_ID", "77"}, {"SLURM_ARRAY_TASK_ID", "2"}}),
              "77_2");
    EXPECT_EQ(job_of({{"PBS_JOBID", "77[2].server"}}), "77[2].server");
    EXPECT_EQ(job_of({{"LSB_JOBID", "77"}, {"LSB_JOBINDEX", "0"}}), "77");
    EXPECT_EQ(job_of({{"LSB_JOBID", "77"}, {"LSB_JOBINDEX", "2"}}), "77[2]");
    EXPECT_EQ(job_of({{"JOB_ID", "77"}, {"SGE_TASK_ID", "undefined"}}), "77");
    EXPECT_EQ(job_of({{"JOB_ID", "77"}, {"SGE_TASK_ID", "3"}}), "77.3");
    EXPECT_EQ(job_of({{"JOB_ID", "77"}}), "") << "anybody may use this name";
    EXPECT_EQ(job_of({{"_CONDOR_JOB_AD", "/ad"}}, {{"/ad", "ClusterId = 7\nProcId = 2\n"}}), "7.2");
    EXPECT_EQ(job_of({{"_CONDOR_JOB_AD", "/gone"}}), "");
    EXPECT_EQ(job_of({{"SLURM_JOB_ID", ""}}), "");
    EXPECT_EQ(job_of({{"WORK_QUEUE_JOB", "own"}, {"SLURM_JOB_ID", "77"}}), "own");
}

std::string word(const Bound& bound) {
    const char* const kinds[] = {"cores", "memory", "disk", "gpus"};
    return std::string(kinds[static_cast<std::size_t>(bound.kind)]) + " " + std::to_string(bound.amount) +
           " " + bound.source + (bound.of == BoundOf::node ? ", of the node" : "");
}

std::vector<std::string> words_of_bounds(const Bounds& bounds) {
    std::vector<std::string> all;
    for (const Bound& bound : bounds) all.push_back(word(bound));
    return all;
}

TEST(BatchStart, IsThatOfTheCurrentRunOfTheJob) {
    EXPECT_EQ(start_of({}), std::nullopt);
    EXPECT_EQ(start_of({{"SLURM_JOB_ID", "77"}}), std::nullopt);
    EXPECT_EQ(start_of({{"SLURM_JOB_START_TIME", "1700000000"}}), 1'700'000'000'000'000);
    const Environment condor{{"_CONDOR_JOB_AD", "/ad"}};
    EXPECT_EQ(start_of(condor, {{"/ad", "JobStartDate = 5\nJobCurrentStartDate = 1700000000\n"}}),
              1'700'000'000'000'000);
    EXPECT_EQ(start_of(condor, {{"/ad", "JobStartDate = 5\n"}}), std::nullopt) << "of its first run";
    EXPECT_EQ(start_of(condor), std::nullopt);
    EXPECT_EQ(start_of({{"PBS_JOBID", "7"}, {"PBS_WALLTIME", "60"}}), std::nullopt);
}

TEST(BatchStart, WhatIsNoTimeIsNone) {
    for (const char* text :
         {"", "0", "-5", "soon", "1700000000.5", "9223372036854775807", "99999999999999999999", "6311520000"})
        EXPECT_EQ(start_of({{"SLURM_JOB_START_TIME", text}}), std::nullopt) << text;
}

TEST(AllocatedCores, AreThoseOfTheJobOnThisHost) {
    const auto cores_of = [](const Environment& environment, const Files& files = {},
                             const CpuCount& usable = {}) {
        return allocated_cores(batch_bounds(sources(environment, files), usable));
    };
    EXPECT_EQ(cores_of({}), std::nullopt);
    EXPECT_EQ(cores_of({{"SLURM_CPUS_ON_NODE", "8"}, {"SLURM_CPUS_PER_TASK", "2"}}), 8);
    EXPECT_EQ(cores_of({{"SLURM_CPUS_ON_NODE", "8"}}, {}, {4, 8}), 4) << "as it counts threads";
    EXPECT_EQ(cores_of({{"SLURM_CPUS_PER_TASK", "2"}}), std::nullopt) << "of a process";
    EXPECT_EQ(cores_of({{"NSLOTS", "6"}}), 6);
    EXPECT_EQ(
        cores_of({{"_CONDOR_MACHINE_AD", "/slot"}, {"SLURM_CPUS_ON_NODE", "64"}}, {{"/slot", "Cpus = 4\n"}}),
        4)
        << "a pilot of one system in a job of another";
}

TEST(BatchBounds, OutsideOfAJobThereAreNone) {
    EXPECT_THAT(bounds_of({}), IsEmpty());
}

// Slurm's CPUs are threads if these are enabled, unless there are as many as cores in our share.
TEST(BatchBounds, OfSlurmInThreadsOrCores) {
    const auto cores = [](const char* cpus, const CpuCount& usable) {
        const BatchSources sources{
            [&](const char* name) { return std::string_view(name) == "SLURM_CPUS_ON_NODE" ? cpus : nullptr; },
            [](const std::string&) { return std::nullopt; }};
        return words_of_bounds(batch_bounds(sources, usable));
    };
    EXPECT_THAT(cores("4", {64, 128}), ElementsAre("cores 2 SLURM_CPUS_ON_NODE, 4 threads, of the node"));
    EXPECT_THAT(cores("5", {64, 128}), ElementsAre("cores 3 SLURM_CPUS_ON_NODE, 5 threads, of the node"));
    EXPECT_THAT(cores("128", {64, 128}),
                ElementsAre("cores 64 SLURM_CPUS_ON_NODE, 128 threads, of the node"));
    EXPECT_THAT(cores("2", {2, 4}), ElementsAre("cores 2 SLURM_CPUS_ON_NODE, of the node"));
    EXPECT_THAT(cores("8", {8, 8}), ElementsAre("cores 8 SLURM_CPUS_ON_NODE, of the node"));
}

TEST(BatchBounds, OfSlurm) {
    EXPECT_THAT(
        words_of_bounds(bounds_of({{"SLURM_CPUS_ON_NODE", "8"},
                                   {"SLURM_CPUS_PER_TASK", "4"},
                                   {"SLURM_MEM_PER_NODE", "16000"},
                                   {"SLURM_JOB_GPUS", "1,3"}})),
        ElementsAre("cores 8 SLURM_CPUS_ON_NODE, of the node", "cores 4 SLURM_CPUS_PER_TASK",
                    "memory 16000 SLURM_MEM_PER_NODE, of the node", "gpus 2 SLURM_JOB_GPUS, of the node"));
    EXPECT_THAT(words_of_bounds(bounds_of({{"SLURM_CPUS_ON_NODE", "8"}, {"SLURM_MEM_PER_CPU", "1000"}})),
                ElementsAre("cores 8 SLURM_CPUS_ON_NODE, of the node",
                            "memory 8000 SLURM_MEM_PER_CPU x 8 (SLURM_CPUS_ON_NODE), of the node"));
    // --mem=0 is all that the node has.
    EXPECT_THAT(bounds_of({{"SLURM_MEM_PER_NODE", "0"}}), IsEmpty());
}

TEST(BatchBounds, SlurmShortensItsListsOfGpus) {
    const auto names = [](const char* list) { return bounds_of({{"SLURM_JOB_GPUS", list}}).front().names; };
    EXPECT_THAT(names("0-3"), ElementsAre("0", "1", "2", "3"));
    EXPECT_THAT(names("0-1,5,7-8"), ElementsAre("0", "1", "5", "7", "8"));
    EXPECT_THAT(names("3-1,4-,-2,GPU-a-b"), ElementsAre("3-1", "4-", "-2", "GPU-a-b"));
    EXPECT_THAT(names("0-99999999"), ElementsAre("0-99999999"));
}

TEST(BatchBounds, AScriptOfSeveralTasksHasTheShareOfAllOfThem) {
    Environment script{{"SLURM_CPUS_ON_NODE", "8"}, {"SLURM_CPUS_PER_TASK", "1"}, {"SLURM_NTASKS", "8"}};
    EXPECT_THAT(words_of_bounds(bounds_of(script)), ElementsAre("cores 8 SLURM_CPUS_ON_NODE, of the node"));
    script["SLURM_STEP_ID"] = "0";  // srun has started each of them
    EXPECT_THAT(words_of_bounds(bounds_of(script)),
                ElementsAre("cores 8 SLURM_CPUS_ON_NODE, of the node", "cores 1 SLURM_CPUS_PER_TASK"));
}

TEST(BatchBounds, OfPbsAndGridEngine) {
    EXPECT_THAT(words_of_bounds(bounds_of({{"PBS_JOBID", "7.host"}, {"NCPUS", "4"}, {"PBS_NUM_PPN", "2"}})),
                ElementsAre("cores 4 NCPUS", "cores 2 PBS_NUM_PPN, of the node"));
    EXPECT_THAT(bounds_of({{"NCPUS", "4"}}), IsEmpty());  // may be anybody's variable
    EXPECT_THAT(words_of_bounds(bounds_of({{"NSLOTS", "6"}, {"NHOSTS", "1"}})),
                ElementsAre("cores 6 NSLOTS, of the node"));
    EXPECT_THAT(bounds_of({{"NSLOTS", "600"}, {"NHOSTS", "20"}}), IsEmpty());
}

TEST(BatchBounds, OnSeveralHostsThoseOfTheListOfHosts) {
    const Environment job{{"NSLOTS", "14"}, {"NHOSTS", "2"}, {"PE_HOSTFILE", "/hosts"}};
    EXPECT_THAT(
        words_of_bounds(bounds_of(
            job,
            {{"/hosts", "node1 8 all.q@node1 UNDEFINED\nnode2 4 all.q UNDEFINED\nnode2 2 big.q <NULL>\n"}})),
        ElementsAre("cores 6 PE_HOSTFILE, of the node"));
    for (const char* hosts :
         {"", "\n", "node3 4 all.q UNDEFINED\n", "node2\n", "node2 many all.q UNDEFINED\n"})
        EXPECT_THAT(bounds_of(job, {{"/hosts", hosts}}), IsEmpty()) << hosts;
}

TEST(BatchBounds, OfPbsTheOnlyProcessHasItsNode) {
    const Environment job{{"PBS_JOBID", "7.host"}, {"NCPUS", "4"}, {"PBS_NODEFILE", "/nodes"}};
    const auto bounds = [&](const char* nodes) {
        return words_of_bounds(bounds_of(job, {{"/nodes", nodes}}));
    };
    EXPECT_THAT(bounds("node2\n"), ElementsAre("cores 4 NCPUS, of the node"));
    for (const char* nodes : {"node2\nnode2\n", "node1\nnode2\n", ""})
        EXPECT_THAT(bounds(nodes), ElementsAre("cores 4 NCPUS")) << nodes;
}

TEST(BatchNodes, AreThoseOfTheJob) {
    EXPECT_EQ(nodes_of({}), std::nullopt);
    EXPECT_EQ(nodes_of({{"SLURM_JOB_NUM_NODES", "4"}}), 4);
    EXPECT_EQ(nodes_of({{"SLURM_JOB_NUM_NODES", "4"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_NODES", "1"}}),
              1);
    const Environment pbs{{"PBS_JOBID", "7.host"}, {"PBS_NODEFILE", "/nodes"}};
    EXPECT_EQ(nodes_of(pbs, {{"/nodes", "node1\nnode1\nnode2\n"}}), 2);
    EXPECT_EQ(nodes_of(pbs), std::nullopt);
    EXPECT_EQ(nodes_of({{"NHOSTS", "3"}, {"PE_HOSTFILE", "/hosts"}}), 3);
    EXPECT_EQ(nodes_of({{"NHOSTS", "3"}}), std::nullopt) << "anybody may use this name";
}

TEST(BatchBounds, OfHTCondorsSlot) {
    EXPECT_THAT(
        words_of_bounds(
            bounds_of({{"_CONDOR_MACHINE_AD", "/slot/.machine.ad"}},
                      {{"/slot/.machine.ad",
                        "TotalCpus = 64.0\nCpus = 4\nmemory = 2048\nDisk = 1048576\nGPUs = 0\n"}})),
        ElementsAre("cores 4 _CONDOR_MACHINE_AD Cpus, of the node",
                    "memory 2048 _CONDOR_MACHINE_AD Memory, of the node", "disk 1024 _CONDOR_MACHINE_AD Disk",
                    "gpus 0 _CONDOR_MACHINE_AD GPUs, of the node"));
    EXPECT_THAT(bounds_of({{"_CONDOR_MACHINE_AD", "/gone"}}), IsEmpty());
}

TEST(BatchBounds, WhatIsNoNumberSaysNothing) {
    for (const char* value : {"", "-1", "lots", "4x", "99999999999999999999", "0"})
        EXPECT_THAT(bounds_of({{"SLURM_CPUS_PER_TASK", value},
                               {"SLURM_CPUS_ON_NODE", value},
                               {"SLURM_MEM_PER_CPU", value},
                               {"NSLOTS", value},
                               {"_CONDOR_MACHINE_AD", "/ad"}},
                              {{"/ad", std::string("Cpus = ") + value + "\nMemory\n= 3\n"}}),
                    IsEmpty())
            << value;
}

TEST(Bounds, TheSmallestCountsUnlessOneDecides) {
    Bounds bounds{{BoundKind::cores, 64, "machine", BoundOf::node, false, {}},
                  {BoundKind::cores, 8, "first", BoundOf::node, false, {}},
                  {BoundKind::cores, 8, "second", BoundOf::node, false, {}},
                  {BoundKind::gpus, 1, "other", BoundOf::node, false, {}}};
    EXPECT_EQ(binding_bound(bounds, BoundKind::cores)->source, "first");
    bounds.push_back({BoundKind::cores, 16, "--cores", BoundOf::process, true, {}});
    bounds.push_back({BoundKind::cores, 2, "late", BoundOf::process, false, {}});
    EXPECT_EQ(binding_bound(bounds, BoundKind::cores)->source, "--cores");
    EXPECT_FALSE(binding_bound(bounds, BoundKind::disk));
}

TEST(Restrict, FewerCoresAreOnlyANumberUntilTheyAreChosen) {
    Machine machine = two_packages();
    restrict_to(machine, {{BoundKind::cores, 16, "SLURM_CPUS_PER_TASK", BoundOf::process, false, {}}});
    EXPECT_EQ(machine.cores_offered(), 16U);
    const NodeSlice shared = divide(machine, 0, 1).front();
    EXPECT_THAT(shared.cores, SizeIs(16));
    EXPECT_THAT(shared.cores.front(), SizeIs(128));
    EXPECT_EQ(shared.bind, Binding::none);
    EXPECT_THAT(shared.places, IsEmpty());
    choose_nearest(machine);
    const NodeSlice own = divide(machine, 0, 1).front();
    EXPECT_EQ(own.bind, Binding::core);
    ASSERT_THAT(own.cores, SizeIs(16));
    EXPECT_THAT(own.cores.back(), ElementsAre(15));  // of one node
}

TEST(Restrict, RanksShareWhatIsOfTheNode) {
    Machine machine = two_packages();
    restrict_to(machine,
                of_node({{BoundKind::cores, 8, "SLURM_CPUS_ON_NODE", BoundOf::node, false, {}},
                         {BoundKind::cores, 1, "SLURM_CPUS_PER_TASK", BoundOf::process, false, {}}}));
    for (const NodeSlice& slice : divide(machine, 0, 4)) EXPECT_THAT(slice.cores, SizeIs(2));
    for (const NodeSlice& slice : divide(machine, 0, 16)) EXPECT_THAT(slice.cores, SizeIs(1));
}

TEST(Restrict, TheGpusThatABatchSystemNamesAreKept) {
    Machine machine = two_packages();
    restrict_to(machine, {{BoundKind::gpus, 2, "SLURM_JOB_GPUS", BoundOf::node, false, {"5", "6"}}});
    EXPECT_THAT(machine.gpus.names, ElementsAre("5", "6"));
    EXPECT_EQ(machine.gpus.devices[0].node, 5);
    restrict_to(machine, {{BoundKind::gpus, 3, "--gpus", BoundOf::process, true, {}}});
    EXPECT_THAT(machine.gpus.names, ElementsAre("0", "1", "2"));
    EXPECT_THAT(machine.remarks, ElementsAre(HasSubstr("--gpus names 3 GPUs, but only 2 were found")));
    restrict_to(machine, {{BoundKind::gpus, 0, "--gpus", BoundOf::process, true, {}}});
    EXPECT_THAT(machine.gpus.names, IsEmpty());
}

TEST(Restrict, OfTheGpusThatAreKeptAUuidThatNobodyHasIsTold) {
    for (const bool told : {false, true}) {
        Machine machine = two_packages();
        machine.gpus = {{"GPU-bbbb", "GPU-cccc"}, "CUDA_VISIBLE_DEVICES", {{}, {}}, "CUDA_VISIBLE_DEVICES"};
        machine.gpus.uuids_told = told;
        restrict_to(machine, {{BoundKind::gpus, 1, "SLURM_JOB_GPUS", BoundOf::node, false, {}}});
        EXPECT_THAT(machine.gpus.names, ElementsAre("GPU-bbbb"));
        EXPECT_THAT(machine.remarks, SizeIs(told ? 1 : 0));
    }
}

TEST(Restrict, OfEachCoreTheFirstThreadsAreLeft) {
    Machine machine = smt_four();
    leave_threads(machine, 2);
    EXPECT_THAT(machine.cores[1], ElementsAre(4, 5));
    leave_threads(machine, 9);
    EXPECT_THAT(machine.cores[1], ElementsAre(4, 5));
}

}  // namespace
}  // namespace wq::node::machine::test
