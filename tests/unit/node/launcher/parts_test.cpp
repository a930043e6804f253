// The small parts of the room, each alone.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fields.h"
#include "engine/model/outcome.h"
#include "node/launcher/accounts.h"
#include "node/launcher/lane.h"
#include "node/launcher/launcher_wire.h"
#include "node/machine/allowance.h"
#include "node/machine/core_pool.h"
#include "node/process/capture.h"
#include "node/process/path_lookup.h"
#include "node/process/task_environment.h"
#include "node/usage/kills.h"
#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<bool> free_where(const std::string& picture) {
    std::vector<bool> free;
    for (const char c : picture) free.push_back(c == '.');
    return free;
}

TEST(PickCores, TakesNeighboursAndKeepsLongRunsWhole) {
    EXPECT_THAT(machine::pick_cores(free_where("...."), 1), ElementsAre(0));
    EXPECT_THAT(machine::pick_cores(free_where("....x.x."), 1), ElementsAre(5));      // the shortest run
    EXPECT_THAT(machine::pick_cores(free_where(".x..x...."), 2), ElementsAre(2, 3));  // a run that fits
    EXPECT_THAT(machine::pick_cores(free_where(".x.x..x.."), 3),
                ElementsAre(2, 4, 5));  // no run fits: the least span
    EXPECT_THAT(machine::pick_cores(free_where("x.xx"), 2), IsEmpty());
    EXPECT_THAT(machine::pick_cores(free_where("...."), 0), IsEmpty());
    EXPECT_THAT(machine::pick_cores(free_where("...."), 4), ElementsAre(0, 1, 2, 3));
}

TEST(Accounts, WhatIsTakenComesBack) {
    machine::NodeSlice slice;
    slice.cores = {{0, 4}, {1, 5}, {2, 6}};
    slice.gpus = {"a", "b"};
    slice.gpu_variable = "CUDA_VISIBLE_DEVICES";
    slice.memory_mb = 100;
    Accounts accounts(slice);
    EXPECT_FALSE(accounts.ever_fits({4, 0, 0, 0}));
    EXPECT_FALSE(accounts.ever_fits({1, 101, 0, 0}));
    const auto first = accounts.take({2, 60, 0, 1});
    ASSERT_TRUE(first);
    EXPECT_THAT(accounts.mask(*first).indexes(), ElementsAre(0, 1, 4, 5));
    EXPECT_EQ(accounts.cores_list(*first), "0,4,1,5");
    EXPECT_EQ(accounts.visible_gpus(*first), "a");
    EXPECT_FALSE(accounts.take({1, 41, 0, 0}));
    const auto second = accounts.take({1, 40, 0, 1});
    ASSERT_TRUE(second);
    EXPECT_EQ(accounts.visible_gpus(*second), "b");
    EXPECT_FALSE(accounts.any_core_free());
    accounts.give_back(*first);
    accounts.give_back(*second);
    EXPECT_TRUE(accounts.take({3, 100, 0, 2}));
}

TEST(Accounts, ATaskIsBoundAsTheSliceSays) {
    machine::NodeSlice slice;
    slice.cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
    slice.places = {{0, 0, 0}, {0, 0, 0}, {0, 1, 1}, {0, 1, 1}};
    Accounts by_core(slice);
    EXPECT_THAT(by_core.mask(*by_core.take({1, 0, 0, 0})).indexes(), ElementsAre(0, 4));
    slice.bind = machine::Binding::node;
    Accounts by_node(slice);
    const auto one = by_node.take({1, 0, 0, 0});
    EXPECT_THAT(by_node.mask(*one).indexes(), ElementsAre(0, 1, 4, 5));
    EXPECT_EQ(by_node.cores_list(*one), "0,4");
    EXPECT_TRUE(
        by_node.mask(*by_node.take({3, 0, 0, 0})).empty());  // of both nodes: there is nothing to bind
    slice.bind = machine::Binding::none;
    Accounts unbound(slice);
    const auto free = unbound.take({2, 0, 0, 0});
    EXPECT_TRUE(unbound.mask(*free).empty());
    EXPECT_EQ(unbound.cores_list(*free), "0,4,1,5");  // a task may bind itself
    EXPECT_EQ(unbound.all_cores().count(), 8U);
    slice.places.clear();
    Accounts number(slice);
    EXPECT_EQ(number.cores_list(*number.take({2, 0, 0, 0})), "");
    slice.of_this_machine = false;
    EXPECT_TRUE(Accounts(slice).all_cores().empty());
}

TEST(Capture, TellsWhetherAnyoneMayStillWrite) {
    process::Capture capture;
    ASSERT_TRUE(capture.renew());
    for (int round = 0; round < 3; ++round) {
        capture.begin(10);
        Descriptor writer(open(capture.writer_path(), O_WRONLY | O_CLOEXEC));
        Descriptor second(dup(writer.get()));
        ASSERT_EQ(write(writer.get(), "hello", 5), 5);
        EXPECT_EQ(capture.drain(), process::Capture::State::empty);
        writer.reset();
        EXPECT_EQ(capture.drain(), process::Capture::State::empty);
        second.reset();
        EXPECT_EQ(capture.drain(), process::Capture::State::closed);
        EXPECT_EQ(capture.take("stdout"), "hello");
    }
}

TEST(Capture, KeepsExactlyTheLimit) {
    for (const std::size_t size : {9U, 10U, 11U, 200000U}) {
        process::Capture capture;
        ASSERT_TRUE(capture.renew());
        capture.begin(10);
        Descriptor writer(open(capture.writer_path(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
        const std::string text(size, 'x');
        for (std::size_t written = 0; written < size;) {
            const ssize_t put = write(writer.get(), text.data() + written, size - written);
            if (put > 0) written += static_cast<std::size_t>(put);
            capture.drain();
        }
        EXPECT_EQ(capture.total(), size);
        const std::string kept = std::string(std::min<std::size_t>(size, 10), 'x');
        EXPECT_EQ(
            capture.take("stderr"),
            size <= 10 ? kept : kept + "\n" + engine::model::cut_marker("stderr", size - 10, 10) + "\n");
    }
}

TEST(Capture, MovesWhatIsLargeToAFile) {
    const test::Folder folder;
    const std::string path = folder / "stream.out";
    const std::uint64_t limit = engine::model::most_in_memory + 100'000;
    for (const std::uint64_t size : {engine::model::most_in_memory, limit, limit + 7}) {
        process::Capture capture;
        ASSERT_TRUE(capture.renew());
        capture.begin(limit, path);
        Descriptor writer(open(capture.writer_path(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
        const std::string text(100'000, 'x');
        for (std::uint64_t written = 0; written < size;) {
            const ssize_t put =
                write(writer.get(), text.data(), std::min<std::uint64_t>(text.size(), size - written));
            if (put > 0) written += static_cast<std::uint64_t>(put);
            capture.drain();
        }
        EXPECT_EQ(capture.total(), size);
        const std::string kept = capture.take("stdout");
        const std::string file = capture.take_file();
        EXPECT_EQ(file, size > engine::model::most_in_memory ? path : "");
        const std::string all = file.empty() ? kept : test::read_file(file);
        const std::string marker =
            size > limit ? "\n" + engine::model::cut_marker("stdout", 7, limit) + "\n" : "";
        EXPECT_TRUE(all == std::string(std::min(size, limit), 'x') + marker) << all.size();
        std::filesystem::remove(path);
    }
}

TEST(PathLookup, FindsTheFirstExecutableAndForgets) {
    test::Folder folder;
    for (const char* name : {"a", "b"}) {
        std::filesystem::create_directory(folder / name);
        std::ofstream(folder / (std::string(name) + "/tool")) << "";
    }
    std::filesystem::permissions(folder / "b/tool", std::filesystem::perms::owner_all);
    std::filesystem::permissions(folder / "a/tool", std::filesystem::perms::owner_read);
    process::PathLookup lookup((folder / "a") + ":" + (folder / "b"));
    EXPECT_EQ(lookup.find("tool").file, folder / "b/tool");
    std::filesystem::remove(folder / "b/tool");
    EXPECT_EQ(lookup.find("tool").file, folder / "b/tool");
    lookup.forget("tool");
    EXPECT_EQ(lookup.find("tool").file, "");
    EXPECT_TRUE(lookup.find("tool").denied);
    EXPECT_EQ(lookup.find("./x").file, "./x");
    EXPECT_EQ(lookup.find("").file, "");
}

TEST(PathLookup, SeesRelativeFoldersFromWhereTheTaskBegins) {
    test::Folder folder;
    for (const char* where : {"one/bin", "two", "last"}) {
        const std::string tool = folder / (std::string(where) + "/tool");
        std::filesystem::create_directories(folder / where);
        std::ofstream(tool) << "";
        std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
    }
    process::PathLookup lookup("bin::" + (folder / "last"));
    EXPECT_EQ(lookup.find("tool", folder / "one").file, "bin/tool");
    EXPECT_EQ(lookup.find("tool", folder / "two").file, "./tool");
    EXPECT_EQ(lookup.find("tool", folder / "last").file, "./tool");
    EXPECT_EQ(lookup.find("tool", folder.path()).file, folder / "last/tool");
    EXPECT_EQ(process::PathLookup::search("/none:", "tool", folder / "two").file, "./tool");
}

// A lane whose pipes could not be made anew has none of the last task's.
TEST(Lanes, AreUsedAgainOnlyWithPipesOfTheirOwn) {
    char* none = nullptr;
    const process::BaseEnvironment base{&none, {}};
    Lanes lanes{base, "", ""};
    Lane* const lane = lanes.acquire();
    ASSERT_NE(lane, nullptr);
    const Descriptor left(open(lane->out.writer_path(), O_WRONLY | O_CLOEXEC));
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit no_more{0, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &no_more), 0);
    EXPECT_FALSE(lane->out.renew());
    lanes.retire(*lane);
    lanes.release(*lane);
    EXPECT_EQ(lanes.acquire(), nullptr);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ASSERT_EQ(lanes.acquire(), lane);
    lane->out.begin(100);
    const auto before = signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(write(left.get(), "late", 4), -1);
    signal(SIGPIPE, before);
    const Descriptor writer(open(lane->out.writer_path(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(write(writer.get(), "new", 3), 3);
    lane->out.drain();
    EXPECT_EQ(lane->out.take("stdout"), "new");
}

std::vector<std::string> entries(char* const* envp) {
    std::vector<std::string> all;
    for (; *envp != nullptr; ++envp) all.emplace_back(*envp);
    std::sort(all.begin(), all.end());
    return all;
}

TEST(TaskEnvironment, TheOrderWinsOverTheListOverTheLauncherOverTheInherited) {
    std::vector<std::string> inherited{"A=old",   "OMPI_X=1",     "CORES=99",
                                       "DISK=99", "TMPDIR=/else", "WORK_QUEUE_BATCH_ENVIRONMENT=keep"};
    std::vector<char*> pointers;
    for (std::string& entry : inherited) pointers.push_back(entry.data());
    pointers.push_back(nullptr);
    const process::BaseEnvironment base(pointers.data(), {{"A", "new"}, {"MKL_NUM_THREADS", "7"}});
    process::HostFiles no_hosts("");
    process::TaskEnvironment environment(base, "/scratch/0", "", no_hosts);
    const process::TaskFacts facts{TaskId(5), 2, {3, 10, 0, 0}, "4,0,2", ""};
    EXPECT_THAT(
        entries(environment.prepare(facts, {})),
        ElementsAre("A=new", "CORES=3", "CORES_LIST=4,0,2", "GPUS=0", "GPUS_LIST=", "MEMORY=10",
                    "MKL_NUM_THREADS=7", "NUMEXPR_NUM_THREADS=3", "OMP_NUM_THREADS=3",
                    "OPENBLAS_NUM_THREADS=3", "TMPDIR=/scratch/0", "VECLIB_MAXIMUM_THREADS=3",
                    "WORK_QUEUE_ATTEMPT=2", "WORK_QUEUE_BATCH_ENVIRONMENT=keep", "WORK_QUEUE_TASK_ID=5"));
    const process::TaskFacts with_disk{TaskId(5), 2, {0, 0, 7, 1}, "", "0"};
    EXPECT_THAT(entries(environment.prepare(with_disk, {})), testing::Contains("DISK=7"));
    EXPECT_THAT(environment.differences(with_disk, {}),
                testing::Not(testing::Contains(testing::StartsWith("MEMORY"))));
    EXPECT_THAT(entries(environment.prepare(facts, {{"CORES", "mine"}, {"A", "newest"}, {"X", "1"}})),
                testing::IsSupersetOf({"CORES=mine", "A=newest", "X=1", "OMP_NUM_THREADS=3"}));
    EXPECT_THAT(entries(environment.prepare(facts, {})), testing::Contains("A=new"));
}

TEST(LauncherWire, AnOrderComesThroughWhole) {
    process::Order order;
    order.task = TaskId(123456789012);
    order.attempt = 4;
    order.give = {2, 3, 4, 5};
    order.timeout = std::chrono::hours(30);
    order.watch.limits.memory_mb = 77;
    order.environment_position = 9;
    order.text = std::string("a\0b\n", 4);
    order.argv = {"x", "", "y z"};
    order.variables = {{"K", "V"}, {"W", {}}};
    order.output_limit = 77;
    std::string batch;
    append_order(batch, 42, order);
    const auto command = decode_command(std::string_view(batch).substr(4));
    ASSERT_TRUE(command);
    const auto& message = std::get<process::OrderMessage>(*command);
    EXPECT_EQ(message.serial, 42U);
    EXPECT_EQ(message.order.task, order.task);
    EXPECT_EQ(message.order.give, order.give);
    EXPECT_EQ(message.order.timeout, order.timeout);
    EXPECT_EQ(message.order.text, order.text);
    EXPECT_EQ(message.order.argv, order.argv);
    EXPECT_EQ(message.order.variables, order.variables);
    EXPECT_EQ(message.order.output_limit, order.output_limit);
}

TEST(LauncherWire, ASliceComesThroughWhole) {
    machine::NodeSlice slice;
    slice.cores = {{0, 4}, {1}};
    slice.places = {{0, 1, 2}, {3, 4, 5}};
    slice.gpus = {"MIG-1", "2"};
    slice.gpu_nodes = {-1, 7};
    slice.gpu_variable = "ROCR_VISIBLE_DEVICES";
    slice.memory_mb = 12;
    slice.bind = machine::Binding::node;
    slice.of_this_machine = false;
    machine::NodeSlice same;
    ASSERT_TRUE(fields_are(bytes_of(slice), same));
    EXPECT_EQ(same.cores, slice.cores);
    EXPECT_EQ(same.places, slice.places);
    EXPECT_EQ(same.gpus, slice.gpus);
    EXPECT_EQ(same.gpu_nodes, slice.gpu_nodes);
    EXPECT_EQ(same.gpu_variable, slice.gpu_variable);
    EXPECT_EQ(same.memory_mb, slice.memory_mb);
    EXPECT_EQ(same.bind, slice.bind);
    EXPECT_EQ(same.of_this_machine, slice.of_this_machine);
}

TEST(LauncherWire, NoCutOrChangedMessageIsMoreThanRefused) {
    std::string batch;
    TaskEnded ended{TaskId(7), 1, {}, {"out", "err"}};
    ended.outcome.reason = "why";
    append(batch, ReportMessage{3, ended});
    const std::string_view message = std::string_view(batch).substr(4);
    ASSERT_TRUE(decode_report(message));
    for (std::size_t length = 0; length < message.size(); ++length)
        EXPECT_FALSE(decode_report(message.substr(0, length))) << length;
    for (std::size_t at = 0; at < message.size(); ++at) {
        std::string changed(message);
        for (const int value : {0, 1, 127, 128, 255}) {
            changed[at] = static_cast<char>(value);
            decode_report(changed);
            decode_command(changed);
        }
    }
}

TEST(LauncherWire, MessagesArriveWholeHoweverTheBytesAreCut) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const Descriptor ours(ends[0]);
    Descriptor theirs(ends[1]);
    std::string batch;
    for (std::uint64_t serial = 1; serial <= 50; ++serial)
        append(batch, ReportMessage{serial, OrderReturned{TaskId(serial), 1}});
    MessageStream stream;
    std::uint64_t next = 1;
    for (const char byte : batch) {
        ASSERT_EQ(write(theirs.get(), &byte, 1), 1);
        ASSERT_TRUE(stream.receive(ours.get()));
        while (const auto message = stream.next()) EXPECT_EQ(decode_report(*message)->serial, next++);
    }
    EXPECT_EQ(next, 51U);
    theirs.reset();
    EXPECT_FALSE(stream.receive(ours.get()));
}

class ControlGroup : public testing::Test {
  protected:
    void write_file(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(folder / path).parent_path());
        std::ofstream(folder / path) << text;
    }
    test::Folder folder;
    machine::ControlGroupRoots roots{folder / "membership", folder / "mount"};
};

TEST_F(ControlGroup, VersionTwoTakesTheLeastOnTheWayUp) {
    write_file("membership", "0::/slurm/job1/step0\n");
    write_file("mount/slurm/job1/step0/memory.max", "max\n");
    write_file("mount/slurm/job1/memory.max", "1000\n");
    write_file("mount/slurm/memory.max", "5000\n");
    write_file("mount/slurm/job1/cpu.max", "150000 100000\n");
    write_file("mount/slurm/job1/step0/cpu.max", "max 100000\n");
    write_file("mount/slurm/job1/step0/memory.events", "low 0\noom 2\noom_kill 1\n");
    EXPECT_EQ(machine::memory_limit(roots), 1000);
    EXPECT_EQ(cpu_quota(roots), 1.5);
    EXPECT_THAT(machine::oom_event_files(roots),
                ElementsAre(folder / "mount/slurm/job1/step0/memory.events"));
    EXPECT_EQ(machine::memory_limit_of_group(roots)->source, "cgroup v2 memory.max /slurm/job1");
    EXPECT_EQ(machine::cpu_quota_of_group(roots)->source, "cgroup v2 cpu quota 1.5 /slurm/job1");
    EXPECT_EQ(machine::cpuset_group(roots), "cgroup v2 cpuset /slurm/job1/step0");
}

TEST_F(ControlGroup, VersionOneHasAFolderPerController) {
    write_file("membership", "9:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/x\n");
    write_file("mount/memory/job/memory.limit_in_bytes", "4096\n");
    write_file("mount/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("mount/cpu/job/cpu.cfs_quota_us", "-1\n");
    write_file("mount/cpu/job/cpu.cfs_period_us", "100000\n");
    write_file("mount/memory/job/memory.oom_control", "oom_kill_disable 0\noom_kill 0\n");
    EXPECT_EQ(machine::memory_limit(roots), 4096);
    EXPECT_EQ(machine::memory_limit_of_group(roots)->source, "cgroup v1 memory.limit_in_bytes /job");
    EXPECT_EQ(cpu_quota(roots), std::nullopt);
    EXPECT_THAT(machine::oom_event_files(roots), ElementsAre(folder / "mount/memory/job/memory.oom_control"));
}

TEST_F(ControlGroup, WithoutAnyThereIsNoLimit) {
    EXPECT_EQ(machine::memory_limit(roots), std::nullopt);
    EXPECT_EQ(cpu_quota(roots), std::nullopt);
    EXPECT_THAT(machine::oom_event_files(roots), ElementsAre("/proc/vmstat"));
}

TEST_F(ControlGroup, AKillOfTheKernelsShowsOnce) {
    write_file("events", "oom 1\noom_kill 1\n");
    usage::OomCounter counter({folder / "events"});
    EXPECT_FALSE(counter.grew());
    write_file("events", "oom 2\noom_kill 2\n");
    EXPECT_TRUE(counter.grew());
    EXPECT_FALSE(counter.grew());
}

TEST_F(ControlGroup, AKillBeforeWeMovedToAnotherGroupStillShows) {
    write_file("events", "oom_kill 1\n");
    write_file("others", "oom_kill 0\n");
    usage::OomCounter counter({folder / "events"});
    write_file("events", "oom_kill 2\n");
    counter.go_over_to({folder / "others"});
    EXPECT_TRUE(counter.grew());
    EXPECT_FALSE(counter.grew());
    write_file("others", "oom_kill 1\n");
    EXPECT_TRUE(counter.grew());
}

TEST(CpuMask, HoldsAnyNumberAndThisProcesssMask) {
    machine::CpuMask mask;
    mask.add({0, 63, 64, 5000});
    EXPECT_THAT(mask.indexes(), ElementsAre(0, 63, 64, 5000));
    EXPECT_EQ(mask.count(), 4U);
    EXPECT_FALSE(mask.contains(-1));
    const machine::CpuMask mine = machine::CpuMask::of_process(0);
    EXPECT_GT(mine.count(), 0U);
    EXPECT_TRUE(mine.apply_to(0));
    EXPECT_TRUE(machine::CpuMask::of_process(0) == mine);
}

}  // namespace
}  // namespace wq::node::launcher
