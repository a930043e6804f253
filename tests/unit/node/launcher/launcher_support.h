// A launcher with real processes for tests: opens it, runs orders, collects what comes back.
#pragma once

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/launcher/launcher.h"
#include "node/machine/cpu_mask.h"
#include "support/folder.h"

namespace wq::node::launcher::test {

inline constexpr int patience_ms = 60000;  // until a test gives up on an event; never how long it takes

using wq::test::Folder;
using wq::test::read_file;
using wq::test::unique_name;

inline std::vector<pid_t> processes_with(const std::string& entry) {
    std::vector<pid_t> found;
    for (const auto& folder : std::filesystem::directory_iterator("/proc")) {
        const std::string name = folder.path().filename();
        if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) continue;
        if (read_file(folder.path() / "environ").find(entry) != std::string::npos)
            found.push_back(std::stoi(name));
    }
    return found;
}

// The soft limit of descriptors of this process and of what it starts, while it lives.
class FewDescriptors {
  public:
    explicit FewDescriptors(rlim_t most) {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit few{most, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &few);
    }
    ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

  private:
    rlimit before_{};
};

// As many cores as a test asks for: those of this machine, each several times if it has fewer.
inline machine::NodeSlice slice_of(std::size_t cores) {
    machine::NodeSlice slice;
    const std::vector<int> all = machine::CpuMask::of_process(0).indexes();
    for (std::size_t i = 0; i < cores; ++i) slice.cores.push_back({all[i % all.size()]});
    slice.memory_mb = 1000;
    slice.disk_mb = 1000;
    return slice;
}

inline process::Order shell_line(std::uint64_t task, std::string text) {
    process::Order order;
    order.task = TaskId(task);
    order.give.cores = 1;
    order.text = std::move(text);
    return order;
}

inline process::Order words(std::uint64_t task, std::vector<std::string> argv) {
    process::Order order = shell_line(task, "");
    order.argv = std::move(argv);
    return order;
}

class Session {
  public:
    explicit Session(std::size_t cores = 2, const process::FunctionTable* functions = nullptr)
        : Session(cores, Launcher::start(functions).or_throw()) {}
    Session(std::size_t cores, std::unique_ptr<Launcher> which) : launcher(std::move(which)) {
        options.slice = slice_of(cores);
        options.shell = "/bin/sh";
        options.scratch = folder / "scratch";
        options.working_directory = folder.path();
        options.environment = {{"WQ_TEST_MARK", mark}};
    }
    ~Session() {
        launcher->close(std::chrono::seconds(30));
        EXPECT_THAT(processes_with(mark), testing::IsEmpty()) << "a task left a process";
        EXPECT_TRUE(std::filesystem::is_empty(folder / "scratch")) << "the scratch folder was not removed";
    }

    void open() {
        const Status status = launcher->open(options);
        ASSERT_TRUE(status.ok()) << status.error().message;
    }

    // Takes reports until `enough` says so of all that came, or none comes for too long.
    void collect_until(const std::function<bool()>& enough) {
        while (!enough()) {
            pollfd ready{launcher->descriptor(), POLLIN, 0};
            if (poll(&ready, 1, patience_ms) == 0) {
                ADD_FAILURE() << "nothing came for " << patience_ms << " ms";
                return;
            }
            for (Report& report : launcher->next()) take(report);
        }
    }

    void collect_ends(std::size_t count) {
        collect_until([&] { return ended.size() >= count || died; });
    }

    TaskEnded run(process::Order order) {
        const TaskId task = order.task;
        launcher->run(std::move(order));
        collect_until([&] { return ended.contains(task.value()) || died; });
        return ended[task.value()];
    }

    void take(Report& report) {
        if (auto* end = std::get_if<TaskEnded>(&report)) {
            order_of_ends.push_back(end->task.value());
            ended[end->task.value()] = *end;
        }
        if (auto* start = std::get_if<TaskStarted>(&report)) started.push_back(start->task.value());
        if (auto* back = std::get_if<OrderReturned>(&report)) returned.push_back(back->task.value());
        if (auto* line = std::get_if<EnvironmentOutput>(&report)) lines.push_back(*line);
        if (auto* exit = std::get_if<EnvironmentExit>(&report)) left = *exit;
        if (auto* death = std::get_if<LauncherDied>(&report)) died = *death;
    }

    Folder folder;
    std::string mark = unique_name() + "-mark";
    LauncherOptions options;
    std::unique_ptr<Launcher> launcher;

    std::map<std::uint64_t, TaskEnded> ended;
    std::vector<std::uint64_t> order_of_ends;
    std::vector<std::uint64_t> started;
    std::vector<std::uint64_t> returned;
    std::vector<EnvironmentOutput> lines;
    std::optional<EnvironmentExit> left;
    std::optional<LauncherDied> died;
};

}  // namespace wq::node::launcher::test
