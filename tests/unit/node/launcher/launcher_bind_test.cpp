// Real processes on the cores of this machine, each with its own.
#include <fcntl.h>
#include <sys/stat.h>

#include <set>
#include <sstream>

#include "base/descriptor.h"
#include "node/machine/divide.h"
#include "node/machine/topology.h"
#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

using testing::SizeIs;

std::set<int> numbers(const std::string& list) {
    std::set<int> found;
    std::istringstream words(list);
    for (std::string range; std::getline(words, range, ',');) {
        const std::size_t dash = range.find('-');
        const int first = std::stoi(range);
        const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
        for (int unit = first; unit <= last; ++unit) found.insert(unit);
    }
    return found;
}

machine::NodeSlice slice_here() {
    const machine::Machine machine = machine::discover(machine::CpuMask::of_process(0)).or_throw();
    machine::NodeSlice slice = machine::divide(machine, 1000, 1).front();
    slice.gpus.clear();
    slice.gpu_nodes.clear();
    return slice;
}

TEST(LauncherBind, TasksThatRunAtOnceShareNoCore) {
    const machine::NodeSlice slice = slice_here();
    const std::size_t cores = slice.cores.size();
    if (cores < 2) GTEST_SKIP() << "one core only";
    Session session(cores);
    session.options.slice = slice;
    session.open();
    // All stay until the last has begun.
    const std::string gate = session.folder / "gate";
    ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
    const Descriptor opener(open(gate.c_str(), O_RDWR | O_CLOEXEC));
    for (std::uint64_t task = 1; task <= cores; ++task)
        session.launcher->run(shell_line(
            task, "grep Cpus_allowed_list /proc/self/status | cut -f2; echo $CORES_LIST; read x <gate"));
    session.collect_until([&] { return session.started.size() >= cores || session.died; });
    const std::string lines(cores, '\n');
    ASSERT_EQ(write(opener.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
    session.collect_ends(cores);

    std::set<int> seen;
    for (auto& [task, end] : session.ended) {
        std::istringstream out(end.output.out);
        std::string allowed;
        std::string told;
        ASSERT_TRUE(out >> allowed >> told) << end.output.err;
        EXPECT_EQ(numbers(allowed), numbers(told));
        for (const int unit : numbers(allowed))
            EXPECT_TRUE(seen.insert(unit).second) << "unit " << unit << " has two tasks";
    }
    EXPECT_THAT(seen, SizeIs(machine::CpuMask::of_process(0).count()));
}

TEST(LauncherBind, UnboundTasksMayUseAllThatTheWorkerMay) {
    Session session(1);
    session.options.slice = slice_here();
    session.options.slice.bind = machine::Binding::none;
    session.open();
    const auto end = session.run(shell_line(1, "grep Cpus_allowed_list /proc/self/status | cut -f2"));
    EXPECT_THAT(numbers(end.output.out), SizeIs(machine::CpuMask::of_process(0).count()));
}

TEST(LauncherBind, ATaskOfADescribedMachineRunsOnThisOne) {
    Session session(1);
    session.options.slice = slice_here();
    session.options.slice.bind = machine::Binding::none;
    session.options.slice.of_this_machine = false;
    session.options.slice.cores = {{5000}};
    session.options.slice.places = {machine::CoreGroups{}};
    session.open();
    const auto end =
        session.run(shell_line(1, "grep Cpus_allowed_list /proc/self/status | cut -f2; echo $CORES_LIST"));
    std::istringstream out(end.output.out);
    std::string allowed;
    std::string told;
    out >> allowed >> told;
    EXPECT_THAT(numbers(allowed), SizeIs(machine::CpuMask::of_process(0).count()));
    EXPECT_EQ(told, "5000");
}

TEST(LauncherBind, TheTasksOwnSettingsWin) {
    Session session(1);
    session.open();
    process::Order order = shell_line(1, "echo $OMP_NUM_THREADS $CORES_LIST $GPUS_LIST $CORES");
    order.variables = {{"OMP_NUM_THREADS", "7"}, {"CORES_LIST", "mine"}, {"GPUS_LIST", "none"}};
    EXPECT_EQ(session.run(order).output.out, "7 mine none 1\n");
}

}  // namespace
}  // namespace wq::node::launcher::test
