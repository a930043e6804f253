// Threads of the library in a program: its signals are for its own.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "work_queue/manager.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

std::uint64_t blocked_signals(const fs::path& thread) {
    std::ifstream in(thread / "status");
    std::string line;
    while (std::getline(in, line) && !line.starts_with("SigBlk:")) {
    }
    if (!in) return ~std::uint64_t{0};  // it has just ended
    return std::stoull(line.substr(7), nullptr, 16);
}

TEST(Threads, TakeNoSignalOfTheProgram) {
    std::string name = (fs::temp_directory_path() / "wq-threads-XXXXXX").string();
    const fs::path folder = ::mkdtemp(name.data());
    ::setenv("WORK_QUEUE_REGISTRY", (folder / "registry").c_str(), 1);
    {
        ManagerOptions options;
        options.name = "threads";
        options.debug_log = folder / "debug.log";
        options.stats_log = folder / "stats.log";
        options.transactions_log = folder / "transactions.log";
        options.contact_file = folder / "contact";
        const Manager manager(options);
        int threads = 0;
        for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
            if (thread.path().filename() == std::to_string(::getpid())) continue;
            ++threads;
            for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGCHLD, SIGPIPE})
                EXPECT_NE(blocked_signals(thread) >> (signal - 1) & 1, 0u)
                    << "signal " << signal << " of thread " << thread.path().filename();
        }
        EXPECT_GE(threads, 4) << "sockets, manager, logs, registry";
    }
    ::unsetenv("WORK_QUEUE_REGISTRY");
    fs::remove_all(folder);
}

}  // namespace
}  // namespace wq
