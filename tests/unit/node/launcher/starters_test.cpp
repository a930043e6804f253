// Commands are started, and their ends seen, by a thread on the core where they run; all else by the
// launcher's loop.
#include <fcntl.h>
#include <sys/stat.h>

#include <sstream>

#include "base/descriptor.h"
#include "unit/node/launcher/launcher_support.h"

namespace wq::node::launcher::test {
namespace {

namespace fs = std::filesystem;

// Tasks that read a line of it wait until it opens.
struct Gate {
    Gate(const Folder& folder, const char* name) {
        const std::string path = folder / name;
        EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
        pipe.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    }
    void open(std::size_t tasks) const {
        const std::string lines(tasks, '\n');
        EXPECT_EQ(write(pipe.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
    }
    std::string read_line() const {
        std::string line;
        pollfd ready{pipe.get(), POLLIN, 0};
        for (char byte = 0;
             poll(&ready, 1, patience_ms) == 1 && read(pipe.get(), &byte, 1) == 1 && byte != '\n';)
            line += byte;
        return line;
    }
    Descriptor pipe;
};

std::string line_of(const fs::path& status, const std::string& name) {
    std::istringstream lines(read_file(status));
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(name)) return line;
    return {};
}

struct Parent {
    std::string name;   // of the thread
    std::string cores;  // as in its status
};

// The thread whose child `pid` is.
std::optional<Parent> parent_thread(const std::string& launcher, const std::string& pid) {
    for (const auto& thread : fs::directory_iterator("/proc/" + launcher + "/task")) {
        std::istringstream children(read_file(thread.path() / "children"));
        for (std::string child; children >> child;)
            if (child == pid)
                return Parent{read_file(thread.path() / "comm"),
                              line_of(thread.path() / "status", "Cpus_allowed:")};
    }
    return std::nullopt;
}

TEST(LauncherStarters, ACommandIsTheChildOfTheThreadOnItsCore) {
    if (!fs::exists("/proc/thread-self/children")) GTEST_SKIP() << "the kernel keeps no lists of children";
    if (machine::CpuMask::of_process(0).count() < 2) GTEST_SKIP() << "one core only";
    Session session(2);
    session.open();
    const Gate gate(session.folder, "gate");
    const Gate ids(session.folder, "ids");
    // A thread that has just reaped a task cannot be told of the next one for a moment, and the loop starts
    // it.
    bool seen = false;
    for (std::uint64_t task = 1; task <= 100 && !seen; ++task) {
        session.launcher->run(shell_line(task, "echo $$ $PPID >ids; read x <gate"));
        session.collect_until([&] { return session.started.size() >= task || session.died; });
        std::istringstream line(ids.read_line());
        std::string pid;
        std::string launcher;
        ASSERT_TRUE(line >> pid >> launcher);
        const auto parent = parent_thread(launcher, pid);
        ASSERT_TRUE(parent);
        const std::string cores = line_of("/proc/" + pid + "/status", "Cpus_allowed:");
        EXPECT_NE(cores, line_of("/proc/self/status", "Cpus_allowed:")) << "the task is not bound";
        seen = parent->name == "wq_starter\n" && parent->cores == cores;
        gate.open(1);
        session.collect_ends(task);
    }
    EXPECT_TRUE(seen);
}

TEST(LauncherStarters, WhereTheThreadOfACoreWaitsTheLoopStartsWhatFits) {
    Session session(2);
    session.open();
    const Gate gate(session.folder, "gate");
    for (std::uint64_t task = 1; task <= 8; ++task) {
        process::Order order = shell_line(task, "read x <gate");
        order.give.cores = Count::of_thousandths(250);
        session.launcher->run(std::move(order));
    }
    session.collect_until([&] { return session.started.size() >= 8 || session.died; });
    gate.open(8);
    session.collect_ends(8);
    for (const auto& [task, end] : session.ended) EXPECT_TRUE(end.outcome.succeeded()) << task;
}

TEST(LauncherStarters, CallsAndCommandsTakeTurns) {
    process::FunctionTable functions;
    functions.add("echo", {[](std::string_view arguments) { return std::string(arguments); }, nullptr});
    Session session(2, &functions);
    session.open();
    constexpr std::uint64_t tasks = 200;
    for (std::uint64_t task = 1; task <= tasks; ++task) {
        process::Order order = words(task, {"echo", std::to_string(task)});
        if (task % 2 == 0) {
            order.argv.clear();
            order.call = process::Call{"echo", std::to_string(task)};
        }
        session.launcher->run(std::move(order));
    }
    session.collect_ends(tasks);
    for (const auto& [task, end] : session.ended)
        EXPECT_EQ(task % 2 == 0 ? end.output.result + "\n" : end.output.out, std::to_string(task) + "\n");
}

}  // namespace
}  // namespace wq::node::launcher::test
