#include "programs/worker/worker_options.h"

#include <gmock/gmock.h>

#include <map>

#include "node/machine/topology.h"
#include "programs/worker/worker_resources.h"

namespace wq::programs::worker {
namespace {

using ::testing::ElementsAre;

Result<WorkerCommand> parse_worker(std::vector<const char*> words,
                                   std::map<std::string, std::string> environment = {}) {
    words.insert(words.begin(), "work_queue_worker");
    return parse_worker_command_line(static_cast<int>(words.size()), words.data(), [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    });
}

WorkerProgramOptions work(std::vector<const char*> words,
                          std::map<std::string, std::string> environment = {}) {
    return parse_worker(std::move(words), std::move(environment)).or_throw().work;
}

TEST(WorkerOptions, TheManualsFormsOfAManager) {
    EXPECT_THAT(work({"host", "9123"}).managers, ElementsAre(net::frames::HostPort{"host", 9123}));
    EXPECT_THAT(work({"a:1;b:2"}).managers,
                ElementsAre(net::frames::HostPort{"a", 1}, net::frames::HostPort{"b", 2}));
    EXPECT_EQ(work({"-M", "my.*"}).manager_regex, "my.*");
    EXPECT_EQ(work({"-N", "my.*"}).manager_regex, "my.*");
    EXPECT_EQ(work({"--contact", "file"}).contact, "file");
}

TEST(WorkerOptions, ThoseWithoutEffectSaySo) {
    const auto options = work({"-C", "catalog:9097", "--connection-mode", "by_ip", "-w", "65536",
                               "--disable-symlinks", "host", "9123"});
    EXPECT_THAT(options.remarks,
                ::testing::UnorderedElementsAre(::testing::StartsWith("--catalog has no effect: "),
                                                ::testing::StartsWith("--connection-mode has no effect: "),
                                                ::testing::StartsWith("--tcp-window-size has no effect: "),
                                                ::testing::StartsWith("--disable-symlinks has no effect: ")));
    EXPECT_TRUE(work({"h", "1", "--cores", "2"}).remarks.empty());
}

TEST(WorkerOptions, CatalogServersAreThoseThatTheUserNames) {
    using Environment = std::map<std::string, std::string>;
    const Environment named{{"CATALOG_HOST", "here:1"}, {"WORK_QUEUE_NAME", "my.*"}};
    EXPECT_THAT(work({"-M", "a"}).catalogs, ElementsAre());
    EXPECT_THAT(work({"-M", "a", "-C", "x:1,y"}, named).catalogs,
                ElementsAre(net::frames::HostPort{"x", 1}, net::frames::HostPort{"y", 9097}));
    EXPECT_THAT(work({"--project-name", "a"}, named).catalogs, ElementsAre(net::frames::HostPort{"here", 1}));
    EXPECT_THAT(work({"h", "1"}, named).catalogs, ElementsAre());
    EXPECT_TRUE(work({"-M", "a", "--catalog", "x"}).remarks.empty());
    EXPECT_EQ(parse_worker({"-M", "a", "-C", "x:y"}).error().code, ExitCode::usage);
    EXPECT_EQ(parse_worker({"-M", "a"}, {{"CATALOG_HOST", "x:y"}}).error().code, ExitCode::usage);
}

TEST(WorkerOptions, ANameOfTheEnvironmentIsTheLastWayToAManager) {
    const std::map<std::string, std::string> named{{"WORK_QUEUE_NAME", "my.*"}};
    EXPECT_EQ(work({}, named).manager_regex, "my.*");
    EXPECT_EQ(work({"-M", "a"}, named).manager_regex, "a");
    EXPECT_EQ(work({"--contact", "file"}, named).manager_regex, "");
    EXPECT_EQ(work({"h", "1"}, named).manager_regex, "");
    EXPECT_EQ(parse_worker({}).error().code, ExitCode::usage);
    EXPECT_FALSE(work({"-M", "a"}, {{"WORK_QUEUE_REQUIRE_KEY", "0"}}).require_key);
    EXPECT_TRUE(work({"-M", "a"}, {{"WORK_QUEUE_REQUIRE_KEY", "1"}}).require_key);
    EXPECT_TRUE(work({"h", "1"}, {{"WORK_QUEUE_REQUIRE_KEY", "1"}}).require_key);
}

TEST(WorkerOptions, APlatformIsANameOfAPath) {
    const auto options = work({"h", "1", "-A", "aarch64", "-O", "Cygwin"});
    EXPECT_EQ(options.arch, "aarch64");
    EXPECT_EQ(options.os, "Cygwin");
    for (const char* name : {"../x", "a/b", "."})
        EXPECT_FALSE(parse_worker({"h", "1", "--os", name})) << name;
}

TEST(WorkerOptions, WhatNoMachineHasIsRefused) {
    EXPECT_FALSE(parse_worker({"h", "1", "--cores", "1000000"}));
    EXPECT_FALSE(parse_worker({"h", "1", "--memory", "2000P"}));
    EXPECT_EQ(parse_worker({"h", "1", "--feature", "function:f"}).error().message,
              "--feature 'function:f': workers of programs announce their functions themselves; no other "
              "worker has "
              "functions; try --help");
    EXPECT_EQ(work({"h", "1", "--memory", "1000P"}).memory_mb, std::int64_t{1000} << 30);
}

TEST(WorkerOptions, StandBehindTheManagerToo) {
    const auto options =
        work({"host", "9123", "--cores", "4", "-t", "5m", "--feature", "a", "--feature=b", "--single-shot"});
    EXPECT_EQ(options.cores, 4);
    EXPECT_EQ(options.idle_timeout, std::chrono::minutes(5));
    EXPECT_EQ(options.connect_timeout, std::chrono::minutes(5));
    EXPECT_THAT(options.features, ElementsAre("a", "b"));
    EXPECT_TRUE(options.single_shot);
}

TEST(WorkerOptions, TimesHaveTheSuffixesOfTheManual) {
    const auto options =
        work({"h", "1", "-t", "30s", "--idle-timeout", "2h", "-i", "2", "-b", "1d", "--wall-time", "3600"});
    EXPECT_EQ(options.idle_timeout, std::chrono::hours(2));
    EXPECT_EQ(options.connect_timeout, std::chrono::seconds(30));
    EXPECT_EQ(options.min_backoff, std::chrono::seconds(2));
    EXPECT_EQ(options.max_backoff, std::chrono::hours(24));
    EXPECT_EQ(options.wall_time, std::chrono::hours(1));
}

TEST(WorkerOptions, TheWallTimeIsTakenAsWorkQueueRunSpellsIt) {
    EXPECT_EQ(work({"h", "1", "--walltime", "1h"}).wall_time, std::chrono::hours(1));
}

TEST(WorkerOptions, TheEnvironmentSaysWhatTheyDoNot) {
    const auto options = work({"h", "1", "--cores", "all", "--gpus", "0"},
                              {{"CORES", "3"}, {"MEMORY", "1000"}, {"DISK", "2G"}, {"GPUS", "4"}});
    EXPECT_EQ(options.cores, std::nullopt);
    EXPECT_EQ(options.memory_mb, 1000);
    EXPECT_EQ(options.disk_mb, 2048);
    EXPECT_EQ(options.gpus, 0);
}

TEST(WorkerOptions, WithinATaskThatHoldsAPartTheWorkerHasTheWholeOnesAndACoreAtLeast) {
    for (const auto& [cores, most] : {std::pair{"0.5", 1}, {"0", 1}, {"2.75", 2}, {"3", 3}})
        EXPECT_EQ(work({"h", "1"}, {{"CORES", cores}}).cores, most) << cores;
    for (const auto& [gpus, most] : {std::pair{"0.25", 0}, {"0", 0}, {"1.5", 1}})
        EXPECT_EQ(work({"h", "1"}, {{"GPUS", gpus}}).gpus, most) << gpus;
    EXPECT_EQ(work({"h", "1"}, {{"CORES", "all"}}).cores, std::nullopt);
    EXPECT_FALSE(parse_worker({"h", "1"}, {{"CORES", "many"}}));
    EXPECT_FALSE(parse_worker({"h", "1", "--cores", "0.5"}));
    EXPECT_EQ(work({"h", "1", "--cores", "0"}).cores, std::nullopt);
}

TEST(WorkerOptions, WhatChangesNothingIsTaken) {
    EXPECT_TRUE(parse_worker({"h",
                              "1",
                              "-a",
                              "-c",
                              "-p",
                              "x",
                              "-z",
                              "5",
                              "--memory-threshold",
                              "7",
                              "-w",
                              "65536",
                              "--disable-symlinks",
                              "--disk-allocation",
                              "-A",
                              "x86_64",
                              "-O",
                              "Linux",
                              "-C",
                              "c:9097",
                              "--connection-mode",
                              "by_ip",
                              "--from-factory",
                              "f",
                              "--volatility",
                              "0.5"}));
}

const node::machine::Machine& machine() {
    static const node::machine::Machine four = [] {
        node::machine::CpuMask all;
        for (int unit = 0; unit < 4; ++unit) all.add(unit);
        return node::machine::discover_synthetic("numa:1(memory=4194304000) package:1 core:4 pu:1", all)
            .or_throw();
    }();
    return four;
}

TEST(WorkerResources, AreWhatIsThereUnlessTheyAreSaid) {
    EXPECT_EQ(worker_resources(machine(), 500, {}).offers, (engine::model::Resources{4, 4000, 500, 0}));
    WorkerProgramOptions options;
    options.cores = 2;
    options.memory_mb = 9000;
    options.disk_mb = 900;
    options.gpus = 2;
    const WorkerResources some = worker_resources(machine(), 500, options);
    EXPECT_EQ(some.offers, (engine::model::Resources{2, 9000, 500, 2}));
    EXPECT_EQ(some.slice.bind, node::machine::Binding::none);
    EXPECT_THAT(some.slice.cores, ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(0, 1, 2, 3)));
    EXPECT_THAT(some.slice.gpus, ElementsAre("0", "1"));
    EXPECT_EQ(some.slice.gpu_variable, "CUDA_VISIBLE_DEVICES");
}

TEST(WorkerResources, TheBatchSystemsShareCountsUnlessAnOptionSaysElse) {
    const node::machine::Bounds batch{{node::machine::BoundKind::cores, 2, "SLURM_CPUS_PER_TASK"},
                                      {node::machine::BoundKind::disk, 100, "_CONDOR_MACHINE_AD Disk"}};
    const WorkerResources share = worker_resources(machine(), 500, {}, batch);
    EXPECT_EQ(share.offers, (engine::model::Resources{2, 4000, 100, 0}));
    EXPECT_EQ(share.slice.bind, node::machine::Binding::none);
    EXPECT_THAT(share.unbound, ::testing::StartsWith("2 of 4 cores, and it is unknown which"));
    WorkerProgramOptions options;
    options.cores = 3;
    EXPECT_EQ(worker_resources(machine(), 500, options, batch).offers.cores, 3);
    EXPECT_EQ(share.allocated_cores, 0) << "that is the share of a process";
}

TEST(WorkerResources, WhatTheJobWasAllocatedIsKnownWhateverIsOffered) {
    const node::machine::Bounds batch{
        {node::machine::BoundKind::cores, 16, "SLURM_CPUS_ON_NODE", node::machine::BoundOf::node, false, {}}};
    WorkerProgramOptions options;
    options.cores = 3;
    const WorkerResources some = worker_resources(machine(), 500, options, batch);
    EXPECT_EQ(some.offers.cores, 3);
    EXPECT_EQ(some.allocated_cores, 16);
}

TEST(WorkerResources, TasksAreBoundAsTheUserSays) {
    WorkerProgramOptions options;
    EXPECT_EQ(worker_resources(machine(), 500, options).slice.bind, node::machine::Binding::core);
    options.bind = node::machine::Binding::node;
    options.cores = 2;
    const WorkerResources nearest = worker_resources(machine(), 500, options);
    EXPECT_EQ(nearest.slice.bind, node::machine::Binding::node);
    EXPECT_THAT(nearest.slice.cores, ElementsAre(ElementsAre(0), ElementsAre(1)));
    EXPECT_EQ(nearest.unbound, "");
    options.cores = 5;
    EXPECT_EQ(worker_resources(machine(), 500, options).slice.bind, node::machine::Binding::none);
    options.cores = std::nullopt;
    options.bind = node::machine::Binding::none;
    const WorkerResources unbound = worker_resources(machine(), 500, options);
    EXPECT_EQ(unbound.slice.bind, node::machine::Binding::none);
    EXPECT_THAT(unbound.slice.places, ::testing::SizeIs(4));  // tasks are told which cores they have
    EXPECT_EQ(unbound.unbound, "--bind none");
}

// The nodes of an allocation grow and shrink under a worker that asked for a part of them.
TEST(WorkerResources, OnlyLessThanWasOfferedIsLacked) {
    node::machine::CpuMask all;
    for (int unit = 0; unit < 4; ++unit) all.add(unit);
    node::machine::CpuMask last;
    last.add(3);
    const auto of = [](node::machine::CpuMask mask, const WorkerProgramOptions& options) {
        const char* four = "numa:1(memory=4194304000) package:1 core:4 pu:1";
        WorkerResources found =
            worker_resources(node::machine::discover_synthetic(four, mask).or_throw(), 500, options);
        found.slice.of_this_machine = true;
        return found;
    };
    WorkerProgramOptions unbound;
    unbound.bind = node::machine::Binding::none;
    EXPECT_EQ(what_it_lacks(of(all, {}), of(all, {}), all), "");
    EXPECT_EQ(what_it_lacks(of(last, {}), of(all, {}), all), "");
    EXPECT_EQ(what_it_lacks(of(all, unbound), of(last, unbound), last), "it can offer 1 cores instead of 4");
    WorkerProgramOptions one;
    one.cores = 1;
    EXPECT_EQ(what_it_lacks(of(all, one), of(last, one), last), "");
    one.bind = node::machine::Binding::core;
    EXPECT_EQ(what_it_lacks(of(all, one), of(last, one), last),
              "its tasks are bound to cores that it may no longer use");
    WorkerResources before = of(all, {});
    before.offers.memory_mb += 1;
    EXPECT_EQ(what_it_lacks(before, of(all, {}), all), "it can offer 4000 MB memory instead of 4001");
    before = of(all, {});
    before.offers.disk_mb += 1;
    EXPECT_EQ(what_it_lacks(before, of(all, {}), all), "") << "its own tasks fill it";
    before.offers.gpus = 1;
    EXPECT_EQ(what_it_lacks(before, of(all, {}), all), "") << "they are not looked for again";
}

TEST(WorkerOptions, DetectNeedsNoManager) {
    EXPECT_EQ(parse_worker({"--detect"}).or_throw().kind, WorkerCommand::Kind::detect);
    EXPECT_TRUE(parse_worker({"--detect", "--json", "--cores", "3"}).or_throw().json);
    EXPECT_EQ(parse_worker({"h", "1", "--draw"}).error().message, "--draw needs --detect; try --help");
    EXPECT_EQ(work({"h", "1", "--bind", "numa", "--threads-per-core", "1"}).bind,
              node::machine::Binding::node);
    EXPECT_FALSE(parse_worker({"h", "1", "--bind", "L3"}));
}

TEST(WorkerResources, AreSaidAsInTheManual) {
    EXPECT_EQ(resources_line({16, 15843, 61291, 0}), "16 cores, 15843 MB memory, 61291 MB disk, 0 gpus");
}

}  // namespace
}  // namespace wq::programs::worker
